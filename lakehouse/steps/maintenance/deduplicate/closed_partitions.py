"""Which partitions of a table may be deduplicated: those that nobody writes to any more, of a table that bears it."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pyiceberg.table import FileScanTask

from lakehouse import seal_keys
from lakehouse.declarations import Deduplicate, Stream
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.entries import PartitionKey, partition_of
from lakehouse.protocol.seals.base import Base, read_bases
from lakehouse.steps.maintenance.measure.measure import measure
from lakehouse.steps.maintenance.model.action import Action, MaintenanceWork, Operation
from lakehouse.steps.maintenance.model.partition_filter import where
from lakehouse.steps.maintenance.model.partitions import partition_named
from lakehouse.steps.maintenance.model.preconditions import refusals
from lakehouse.steps.maintenance.model.state import Depth, MeasuredState, PartitionState
from lakehouse.steps.maintenance.plan.due_deduplicate import closes_at, last_known

_MOST_NAMED = 10


class OpenPartition(LakehouseError):
    """Rows may still come to a partition, so it cannot be said yet which of them stays."""


class CannotDeduplicate(LakehouseError):
    """The table is not one whose rows could go without a promise being broken."""


class NullKey(CannotDeduplicate):
    """Rows have no value in a column of the key, so nobody can say whether they are the same."""

    def __init__(self, name: str, key: Sequence[str], rows: int, partitions: Sequence[str]) -> None:
        suffix = f" and {len(partitions) - _MOST_NAMED} partitions more" if len(partitions) > _MOST_NAMED else ""
        super().__init__(
            f"{name}: at least {rows} rows of {', '.join(partitions[:_MOST_NAMED])}{suffix} have no value in a column "
            f"of the key ({', '.join(key)}), so it does not identify them.",
            remedy="correct these rows, or declare a key whose columns have a value in each row",
        )


@dataclass(frozen=True)
class Closed:
    """What is to be done, seen from one load of the tables.

    Args:
        bases: all tables of the stream that writes the table, or the table alone.
        base: the table.
        policy: which row stays.
        partitions: its closed partitions, by where they are.
    """

    bases: Mapping[str, Base]
    base: Base
    policy: Deduplicate
    partitions: Mapping[PartitionKey, PartitionState]

    @property
    def condition(self) -> str:
        """For the rows of the partitions, in Spark's words."""
        return where(self.base.table, list(self.partitions))

    @property
    def bytes(self) -> int:
        """That the partitions hold."""
        return sum(partition.bytes for partition in self.partitions.values())

    @property
    def of_stream(self) -> bool:
        """Whether somebody counts which records of a topic are there."""
        return self.base.sealed is not None and seal_keys.KAFKA_END in self.base.sealed.seal.statement


def look(work: MaintenanceWork, action: Action) -> Closed:
    """Look again, at the table as it is now, whatever the plan said.

    Raises:
        Trap: the table is read in ranges, computed, of version 3, or has no seal.
        OpenPartition: a partition was written to not long enough ago.
        CannotDeduplicate: the stream's tables do not agree, or a partition is of an older partitioning.
        NullKey: the files hold rows without a value in a column of the key.
    """
    policy = work.policy.deduplicate
    if policy is None or not work.declared.key:
        raise ValueError(f"{work.base.name} is not to be deduplicated: its declaration says so.")
    bases = read_bases(work.catalog, _written_together(work))
    base = bases[work.base.name]
    state = measure(base.table, work.declared, work.declarations, now=datetime.now(UTC), depth=Depth.PARTITIONS)
    for trap in refusals(state, work.policy, Operation.DEDUPLICATE):
        raise trap
    _require_agreement(bases)
    files = list(base.table.scan(snapshot_id=base.snapshot_id).plan_files())
    partitions = _closed(work, action, base, policy, state, {partition_of(task.file) for task in files})
    if older_partitions := [
        partition_state.partition.name
        for (spec, _), partition_state in partitions.items()
        if spec != base.table.spec().spec_id
    ]:
        raise CannotDeduplicate(
            f"{base.name}: {older_partitions[0]} is of an older partitioning, so it cannot be written anew as a whole.",
            remedy="let it be rewritten first: then its files are of the present one",
        )
    _require_values(base, work.declared.key, partitions, files)
    return Closed(bases, base, policy, partitions)


def _written_together(work: MaintenanceWork) -> tuple[str, ...]:
    writer = work.declarations.writer(work.base.name)
    return (*writer.tables, writer.quarantine_table) if isinstance(writer, Stream) else (work.base.name,)


def _require_agreement(bases: Mapping[str, Base]) -> None:
    """A seal over a commit that nobody sealed would hide it; tables that disagree would seem to agree after it."""
    if unsealed := [base.name for base in bases.values() if base.sealed is None or base.unsealed]:
        raise CannotDeduplicate(
            f"{', '.join(unsealed)}: not everything is sealed.",
            remedy="look at `lakehouse audit`, then `lakehouse adopt`",
        )
    statements = [KafkaStatement.from_keys(base.sealed.seal.statement) for base in bases.values() if base.sealed]
    if any(statement != statements[0] for statement in statements):
        raise CannotDeduplicate(
            f"{', '.join(bases)}: the tables of the stream do not agree.", remedy="look at `lakehouse audit`"
        )


def _closed(
    work: MaintenanceWork,
    action: Action,
    base: Base,
    policy: Deduplicate,
    state: MeasuredState,
    partition_keys: Collection[PartitionKey],
) -> dict[PartitionKey, PartitionState]:
    """The action's partitions by where they are; all of the table if it names none."""
    named_keys = {partition.key for partition in action.partitions}
    measured = {partition_state.partition.key: partition_state for partition_state in state.partitions or ()}
    present = {
        key: measured[partition_named(base.table, work.declared, *key).key] for key in sorted(partition_keys, key=str)
    }
    partitions = {
        key: partition_state
        for key, partition_state in present.items()
        if not named_keys or partition_state.partition.key in named_keys
    }
    for partition_state in partitions.values():
        closing_time = closes_at(last_known(partition_state, state), policy)
        if closing_time > state.measured_at:
            raise OpenPartition(
                f"{base.name}: {partition_state.partition.name} is open until {closing_time:%Y-%m-%d %H:%M:%S} UTC.",
                remedy="wait, or declare a shorter Deduplicate(closed_after=…)",
            )
    return partitions


def _require_values(
    base: Base, key: Sequence[str], partitions: Mapping[PartitionKey, PartitionState], files: Sequence[FileScanTask]
) -> None:
    """Refuse what the files themselves say cannot be told apart; where they say nothing, Spark counts."""
    columns = [field.field_id for field in map(base.table.schema().find_field, key) if not field.required]
    nulls = Counter[str]()
    for task in files:
        if (partition_state := partitions.get(partition_of(task.file))) is not None and not task.delete_files:
            null_counts = task.file.null_value_counts or {}
            nulls[partition_state.partition.name] += max((null_counts.get(column, 0) for column in columns), default=0)
    if rows := nulls.total():
        raise NullKey(base.name, key, rows, [name for name, count in nulls.items() if count])
