"""The checkpoints that stand for old changes: found when it is looked what may go, and there still when it goes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyiceberg.table import Table
from pyiceberg.table.update import AssertTableUUID

from lakehouse.declarations import MirrorTables
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.protocol.catalog import LakeCatalog, TableChange, ref_is
from lakehouse.protocol.seals.history import MAIN
from lakehouse.steps.cdc.changelog_cleanup.readers import CannotRetire
from lakehouse.steps.cdc.evidence import read_evidence
from lakehouse.steps.cdc.replay.checkpoints import Checkpoint, checkpoints, newest_checkpoint


@dataclass(frozen=True)
class ProvenMirror:
    """A mirror with its newest checkpoint.

    Args:
        tables: the mirror as declared.
        table: the mirror as it was loaded.
        checkpoint: of its present build.
    """

    tables: MirrorTables
    table: Table
    checkpoint: Checkpoint

    @property
    def key(self) -> list[str]:
        """The key's columns."""
        return list(self.tables.changelog.key)

    @property
    def snapshot_id(self) -> int:
        """The mirror's snapshot that was proven."""
        return self.checkpoint.snapshots[self.tables.mirror.name]

    def still_stands(self, catalog: LakeCatalog) -> TableChange:
        """What the catalog must require of the mirror when changes go that the checkpoint stands for.

        Raises:
            CannotRetire: it was rebuilt or set back since, or the checkpoint is gone.
        """
        name, tag = self.tables.mirror.name, self.checkpoint.tag
        evidence = read_evidence(catalog, self.tables)
        build = evidence.newest.statement.build if evidence.newest else ""
        if build != self.checkpoint.statement.build or all(tag != known.tag for known in checkpoints(evidence)):
            raise CannotRetire(
                f"{name} was rebuilt or set back meanwhile, so its checkpoint {tag} does not stand for old changes.",
                remedy=f"`lakehouse checkpoint {name}`, then retire again",
            )
        mirror = evidence.mirror
        uuid = AssertTableUUID(uuid=mirror.table.metadata.table_uuid)
        requirements = (uuid, ref_is(MAIN, mirror.snapshot_id), ref_is(tag, self.snapshot_id))
        return TableChange(mirror.table.name(), requirements, ())


def proven_mirrors(
    catalog: LakeCatalog, mirrors: Sequence[MirrorTables], statement: KafkaStatement, changelog: str
) -> tuple[ProvenMirror, ...]:
    """Every mirror with its newest checkpoint.

    Args:
        catalog: where the tables live.
        mirrors: of the changelog.
        statement: what the changelog's newest seal says.
        changelog: its name.

    Raises:
        CannotRetire: one has none, or changes were reprocessed since.
    """
    proven: list[ProvenMirror] = []
    for tables in mirrors:
        evidence = read_evidence(catalog, tables)
        checkpoint = newest_checkpoint(evidence)
        if checkpoint is None:
            raise CannotRetire(
                f"{tables.mirror.name} has no checkpoint, so its changes cannot go.",
                remedy=f"`lakehouse checkpoint {tables.mirror.name}`",
            )
        if checkpoint.statement.reprocessed != statement.reprocessed_rows(changelog):
            raise CannotRetire(
                f"Changes of {changelog} were reprocessed after the newest checkpoint of {tables.mirror.name}.",
                remedy="let the mirror run, then make a checkpoint",
            )
        proven.append(ProvenMirror(tables, evidence.mirror.table, checkpoint))
    return tuple(proven)


def proven_offsets(mirrors: Sequence[ProvenMirror], statement: KafkaStatement) -> dict[int, int]:
    """Kafka partition → offset up to where every mirror could be checked without the changes before."""
    offsets = dict(statement.end)
    for mirror in mirrors:
        reached: Mapping[int, int] = mirror.checkpoint.statement.kafka_end
        offsets = {partition: min(offset, reached.get(partition, 0)) for partition, offset in offsets.items()}
    return offsets
