"""What the retention of a changelog removed, as its seal says it, and whether a reader had read all of that.

Who reads a changelog in ranges may pass over such a commit then: it takes nothing away that is still to be read.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse import seal_keys
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.tally import Tally
from lakehouse.iceberg.names import table_name
from lakehouse.protocol.seals.history import attempt_of, head_of, seals

KIND_RETIRE = "retire"


@dataclass(frozen=True)
class Retirement:
    """One run of retention.

    Args:
        before: Kafka partition → offset before which everything went.
        statement: what its seal says; None where that is of an unknown form.
    """

    before: Mapping[int, int]
    statement: KafkaStatement | None

    def was_read(self, end: Mapping[int, int]) -> bool:
        """Whether everything that went is before where a reader stood, by partition."""
        return all(offset <= end.get(partition, 0) for partition, offset in self.before.items())


def retirement_of(changelog: Table, snapshot: Snapshot) -> Retirement | None:
    """The retirement that a snapshot belongs to; None for any other commit.

    Args:
        changelog: a loaded changelog.
        snapshot: one of `main`.

    Raises:
        SealBroken: a seal was changed after it was written.
    """
    attempt = attempt_of(snapshot)
    if attempt is None:
        return None
    for sealed in seals(changelog, head_of(changelog)):
        if sealed.seal.attempt == attempt and sealed.seal.kind == KIND_RETIRE:
            before = msgspec.json.decode(sealed.seal.statement[seal_keys.RETIRE_BEFORE], type=dict[int, int])
            return Retirement(before, KafkaStatement.from_keys(sealed.seal.statement))
    return None


def is_harmless(changelog: Table, snapshot: Snapshot, consumed: Mapping[int, int]) -> bool:
    """Whether a snapshot only removed changes that a mirror has consumed: what its plan may pass over.

    Args:
        changelog: a loaded changelog.
        snapshot: one of `main`.
        consumed: Kafka partition → first offset that the mirror has not consumed, as its seal says.

    Raises:
        SealBroken: a seal was changed after it was written.
    """
    retirement = retirement_of(changelog, snapshot)
    return retirement is not None and retirement.was_read(consumed)


def is_read_before(changelog: Table, snapshot: Snapshot, read: int) -> bool:
    """Whether a snapshot only removed changes that were in another one: what who has read that one may pass over.

    Offsets alone do not tell where records were reprocessed meanwhile: those came later than others of their offsets.

    Args:
        changelog: a loaded changelog.
        snapshot: one of `main`.
        read: the older snapshot.

    Raises:
        SealBroken: a seal was changed after it was written.
    """
    retirement, then = retirement_of(changelog, snapshot), statement_then(changelog, read)
    if retirement is None or retirement.statement is None or then is None:
        return False
    name = table_name(changelog)
    is_whole = retirement.statement.reprocessed_rows(name) == then.reprocessed_rows(name)
    return is_whole and retirement.was_read(then.end)


def retired_of(table: Table, snapshot_id: int | None) -> dict[int, Tally]:
    """Kafka partition → tally of rows that retention has removed, by the newest seal of a table that says so.

    An adoption by an earlier version did not repeat it, so the seals before it count as well, as far as they are left.

    Raises:
        SealBroken: a seal was changed after it was written.
    """
    name = table_name(table)
    statements = (KafkaStatement.from_keys(sealed.seal.statement) for sealed in seals(table, snapshot_id))
    retired = (statement.retired.get(name) for statement in statements if statement is not None)
    return next(filter(None, retired), {})


def statement_then(changelog: Table, snapshot_id: int) -> KafkaStatement | None:
    """What the newest seal says that a snapshot has; None where that is not listed, or has none of a stream.

    Raises:
        SealBroken: a seal was changed after it was written.
    """
    statements = (KafkaStatement.from_keys(sealed.seal.statement) for sealed in seals(changelog, snapshot_id))
    return next((statement for statement in statements if statement is not None), None)
