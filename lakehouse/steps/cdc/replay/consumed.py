"""What a mirror has consumed: the changes of its changelog up to the sealed end, and what it began with."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Literal

import polars as pl
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.expressions import BooleanExpression
from pyiceberg.table import Table

from lakehouse.declarations import MirrorTables
from lakehouse.declarations.columns.column import aliases_of
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import identifier_of, table_name
from lakehouse.proofs.audit.retirement import retired_of
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.steps.cdc.evidence import Evidence
from lakehouse.steps.cdc.position import ChangePosition
from lakehouse.steps.cdc.replay.buckets import Buckets
from lakehouse.steps.cdc.replay.changes import Types, read_changes, read_initial, read_moves
from lakehouse.steps.cdc.replay.checkpoints import Checkpoint, newest_checkpoint, removed_checkpoint, stored_changes
from lakehouse.steps.cdc.replay.key_change_replay import LeftOut, with_earlier
from lakehouse.steps.cdc.replay.piecewise import offsets_between
from lakehouse.steps.cdc.replay.refused import refused_changes
from lakehouse.steps.cdc.statement import MirrorStatement

Begin = Literal["auto", "build", "checkpoint"]


class CannotFold(LakehouseError):
    """What would be needed to fold the changelog again is not there any more."""


class CheckpointRemoved(CannotFold):
    """Somebody removed the tag of the checkpoint from which alone the changelog can be folded.

    Attributes:
        table: the mirror.
    """

    def __init__(self, table: str, missing: str, removed: Checkpoint) -> None:
        places = (f"{name} at snapshot {snapshot_id}" for name, snapshot_id in removed.snapshots.items())
        super().__init__(
            f"{missing} Its fold begins with a checkpoint then, and {table} has none.",
            remedy=f"somebody removed the tag {removed.tag}: set it again (`CREATE TAG`), on {', '.join(places)}",
        )
        self.table = table


class Consumed:
    """Reads it, piece by piece."""

    def __init__(
        self,
        catalog: LakeCatalog,
        tables: MirrorTables,
        evidence: Evidence,
        key: Types,
        columns: Types,
        *,
        begin: Begin = "auto",
    ) -> None:
        """Of a mirror's tables as they were loaded, up to the end of their newest seal.

        Args:
            catalog: where an initial copy is.
            tables: the mirror as declared.
            evidence: its tables, with a seal.
            key: the key's columns as the mirror types them.
            columns: all of the source's columns, likewise.
            begin: from the build's beginning, from the newest checkpoint, or from that only where the build's beginning
                is not there any more.

        Raises:
            CannotFold: what is asked for is not there.
        """
        assert evidence.newest is not None
        self._mirror, self._evidence = tables.mirror.name, evidence
        self._statement, self._key, self._columns = evidence.newest.statement, key, columns
        if str(evidence.changelog.table.metadata.table_uuid) != self._statement.changelog_uuid:
            raise CannotFold(
                f"{self._statement.changelog} is another table than the one that {self._mirror} was made from.",
                remedy=f"`lakehouse rebuild {self._mirror} --yes`",
            )
        self._aliases = aliases_of(tables.changelog.columns)
        self._initial = _initial_table(catalog, self._statement)
        self._checkpoint = self._choose(begin)

    @property
    def begin(self) -> str:
        """Where the fold begins, in words."""
        if self._checkpoint is not None:
            return f"checkpoint {self._checkpoint.tag}"
        initial = f"{self._statement.initial} and " if self._statement.initial else ""
        return f"{initial}the changelog's first row"

    def operations(self) -> dict[str, int]:
        """Operation → changes that `changes` should give, by the seals."""
        before = self._checkpoint.statement.total_operations if self._checkpoint else {}
        counts = {name: number - before.get(name, 0) for name, number in self._statement.total_operations.items()}
        return {name: number for name, number in counts.items() if number}

    def state(self) -> Iterator[pl.DataFrame]:
        """What was there before the changes, as changes."""
        if self._checkpoint is not None:
            return stored_changes(self._checkpoint, self._evidence, self._key, self._columns)
        if self._initial is None:
            return iter(())
        snapshot = int(self._statement.initial.rpartition("@")[2])
        return read_initial(self._initial, snapshot, self._key, self._columns)

    @property
    def truncated(self) -> ChangePosition | None:
        """The newest truncate before the changes."""
        return self._checkpoint.statement.truncated if self._checkpoint else None

    def changes(self) -> Iterator[pl.DataFrame]:
        """The changes themselves, the refused ones included."""
        start = self._checkpoint.statement.kafka_end if self._checkpoint else None
        snapshot_id, where = self._up_to_the_end(start)
        return read_changes(self._evidence.changelog.table, snapshot_id, self._key, self._columns, where, self._aliases)

    def earlier_changes(self) -> Iterator[pl.DataFrame]:
        """Changes that are in the checkpoint already and that retention has left, the refused ones included."""
        if self._checkpoint is None:
            return iter(())
        snapshot_id, _ = self._up_to_the_end(None)
        where = offsets_between(None, self._checkpoint.statement.kafka_end)
        return read_changes(self._evidence.changelog.table, snapshot_id, self._key, self._columns, where, self._aliases)

    def left_out(self, buckets: Buckets, *, soft: bool) -> LeftOut | None:
        """What changes of key left out, as far as the keys in some buckets need it; None: nothing.

        Args:
            buckets: which keys.
            soft: whether deleted rows stay.
        """
        if self._statement.moved is None:
            return None
        table, key = self._evidence.changelog.table, list(self._key)
        snapshot_id, where = self._up_to_the_end(None)
        moves = read_moves(table, snapshot_id, self._key, where)
        needed = with_earlier(buckets.of(moves, key), moves, key)
        if needed.is_empty():
            return None
        left_out = LeftOut(key, needed)
        for piece in self.state():
            left_out.keep(piece, stored=True, new=pl.lit(False))
        start = self._checkpoint.statement.kafka_end if self._checkpoint else {}
        begins = pl.col("_partition").replace_strict(start, default=0) if start else pl.lit(0)
        for piece in read_changes(table, snapshot_id, self._key, self._columns, where, self._aliases):
            left_out.keep(piece, stored=False, new=pl.col("_offset") >= begins)
        left_out.play(soft=soft, truncated=self.truncated)
        return left_out

    def _up_to_the_end(self, start: Mapping[int, int] | None) -> tuple[int | None, BooleanExpression]:
        """A snapshot of the changelog, and which of its rows."""
        log, statement = self._evidence.changelog, self._statement
        if log.table.metadata.snapshot_by_id(statement.end) is not None:
            return statement.end, offsets_between(start, None)
        # That snapshot has left the table's list; by their offsets its rows are known, but for reprocessed ones.
        arrived = KafkaStatement.from_keys(log.sealed.seal.statement) if log.sealed else None
        if arrived is not None and arrived.reprocessed_rows(statement.changelog) != statement.reprocessed:
            raise CannotFold(
                f"{statement.changelog}: records were reprocessed after the snapshot that {self._mirror} has reached, "
                "and that one is not listed any more.",
                remedy=f"let {self._mirror} run: then it has them",
            )
        return log.snapshot_id, offsets_between(start, statement.kafka_end)

    def _choose(self, begin: Begin) -> Checkpoint | None:
        missing = _missing(self._mirror, self._evidence, self._initial)
        if begin == "build" or (begin == "auto" and not missing):
            if missing:
                raise CannotFold(missing, remedy="fold from a checkpoint")
            return None
        checkpoint = newest_checkpoint(self._evidence)
        if checkpoint is None:
            if not missing:
                message = f"{self._mirror} has no checkpoint of this build."
                raise CannotFold(message, remedy=f"`lakehouse checkpoint {self._mirror}`")
            if removed := removed_checkpoint(self._evidence):
                raise CheckpointRemoved(self._mirror, missing, removed)
            message = f"{missing} Its fold begins with a checkpoint then, and {self._mirror} has none."
            raise CannotFold(message, remedy=self._way_back())
        return checkpoint

    def _way_back(self) -> str:
        """What helps where neither the beginning nor a checkpoint is there: no command can make either anew."""
        if self._statement.initial and self._initial is None:
            begin = f"restore {self._statement.initial}, or take `initial` out of the declaration and rebuild"
            return f"{begin} (`lakehouse rebuild {self._mirror} --yes`)"
        return (
            "`lakehouse rebuild` refuses without those changes: let the source send a new snapshot to another "
            "changelog, and declare a mirror of that one"
        )

    @cached_property
    def refused(self) -> pl.DataFrame:
        """The changes that this build of the mirror refused, and why."""
        return refused_changes(self._evidence.quarantine, self._statement.build)


def missing_history(catalog: LakeCatalog, evidence: Evidence) -> str:
    """What of a mirror's beginning is not there any more, so that it can be folded from a checkpoint alone, in words.

    Args:
        catalog: where an initial copy is.
        evidence: the mirror's tables, with a seal.
    """
    assert evidence.newest is not None
    return _missing(table_name(evidence.mirror.table), evidence, _initial_table(catalog, evidence.newest.statement))


def _missing(mirror: str, evidence: Evidence, initial: Table | None) -> str:
    """What of the build's beginning is not there any more."""
    assert evidence.newest is not None
    statement = evidence.newest.statement
    if statement.initial and initial is None:
        return f"{mirror} began with {statement.initial}, which is not there any more."
    if retired_of(evidence.changelog.table, evidence.changelog.snapshot_id):
        return f"{statement.changelog} keeps only the changes that its retention allows."
    return ""


def _initial_table(catalog: LakeCatalog, statement: MirrorStatement) -> Table | None:
    """The table with which a build began, if that snapshot of it is there."""
    if not statement.initial:
        return None
    name, _, snapshot = statement.initial.rpartition("@")
    try:
        table = catalog.load_table(identifier_of(name))
    except NoSuchTableError:
        return None
    return table if table.metadata.snapshot_by_id(int(snapshot)) is not None else None
