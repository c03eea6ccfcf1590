"""The chain of seals of a table, as its history has it, and every commit that nobody sealed."""

from dataclasses import dataclass

from msgspec import MsgspecError
from pyiceberg.table import Table

from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.iceberg.names import table_name
from lakehouse.proofs.audit.findings import Finding
from lakehouse.protocol.errors import SealBroken
from lakehouse.protocol.seals.covered import unsealed_commits
from lakehouse.protocol.seals.history import Sealed, ancestry, summary_of
from lakehouse.protocol.seals.seal import Seal

KIND_DEDUPLICATE = "deduplicate"
KIND_NEW_EPOCH = "new_epoch"
KIND_REPROCESS = "reprocess"


@dataclass(frozen=True)
class Link:
    """A seal with its Kafka part."""

    sealed: Sealed
    statement: KafkaStatement

    @property
    def kind(self) -> str:
        """What the step did."""
        return self.sealed.seal.kind


def rebases_totals(link: Link) -> bool:
    """Whether offsets of earlier and later rows may be the same numbers, or totals are not the sum of sealed ranges."""
    return link.kind in ("adopt", KIND_NEW_EPOCH)


def unsealed_findings(table: Table, head: int | None) -> list[Finding]:
    """The commits that led to a snapshot and that no seal accounts for."""
    name = table_name(table)
    messages = [f"{name}: {commit} came from outside the protocol." for commit in unsealed_commits(table, head)]
    return [Finding("unsealed_commit", message, name) for message in messages]


def read_chain(table: Table, head: int | None) -> tuple[list[Link], list[Finding]]:
    """The seals of a table, oldest first, and what is wrong with the commits themselves."""
    name = table_name(table)
    links: list[Link] = []
    findings = unsealed_findings(table, head)
    for snapshot in ancestry(table, head):
        try:
            seal = Seal.from_summary(summary_of(snapshot), where=f"{name} snapshot {snapshot.snapshot_id}")
            statement = KafkaStatement.from_keys(seal.statement) if seal else None
        except SealBroken as error:
            findings.append(Finding("seal_edited", str(error), name))
            continue
        except (KeyError, TypeError, ValueError, MsgspecError) as error:
            text = f"{name} snapshot {snapshot.snapshot_id}: the seal cannot be read ({type(error).__name__}: {error})."
            findings.append(Finding("seal_edited", text, name))
            continue
        if seal is not None and statement is not None:
            links.append(Link(Sealed(snapshot.snapshot_id, snapshot.timestamp_ms, seal), statement))
    return links[::-1], findings
