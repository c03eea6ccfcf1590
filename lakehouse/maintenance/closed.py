"""Which partitions of a table may be deduplicated: those that nobody writes to any more, of a table that bears it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from lakehouse.commit import Base, read_bases
from lakehouse.commit.entries import PartitionKey, partition_of
from lakehouse.errors import LakehouseError
from lakehouse.kafka.statement import KafkaStatement
from lakehouse.maintenance.action import Action, Operation, Work
from lakehouse.maintenance.due_deduplicate import closes_at, last_known
from lakehouse.maintenance.measure import measure
from lakehouse.maintenance.partitions import partition_named
from lakehouse.maintenance.state import Depth, PartitionState, State
from lakehouse.maintenance.traps import refusals
from lakehouse.maintenance.where import where
from lakehouse.tables import Deduplicate, Stream


class OpenPartition(LakehouseError):
    """Rows may still come to a partition, so it cannot be said yet which of them stays."""


class CannotDeduplicate(LakehouseError):
    """The table is not one whose rows could go without a promise being broken."""


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
        return sum(one.bytes for one in self.partitions.values())

    @property
    def of_stream(self) -> bool:
        """Whether somebody counts which records of a topic are there."""
        return self.base.sealed is not None and "kafka.end" in self.base.sealed.seal.statement


def look(work: Work, action: Action) -> Closed:
    """Look again, at the table as it is now, whatever the plan said.

    Raises:
        Trap: the table is read in ranges, computed, of version 3, or has no seal.
        OpenPartition: a partition was written to not long enough ago.
        CannotDeduplicate: the stream's tables do not agree, or a partition is of an older partitioning.
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
    partitions = _closed(work, action, base, policy, state)
    if old := [one.partition.name for (spec, _), one in partitions.items() if spec != base.table.spec().spec_id]:
        raise CannotDeduplicate(
            f"{base.name}: {old[0]} is of an older partitioning, so it cannot be written anew as a whole.",
            remedy="let it be rewritten first: then its files are of the present one",
        )
    return Closed(bases, base, policy, partitions)


def _written_together(work: Work) -> tuple[str, ...]:
    writer = work.declarations.writer(work.base.name)
    return (*writer.tables, writer.quarantine_table) if isinstance(writer, Stream) else (work.base.name,)


def _require_agreement(bases: Mapping[str, Base]) -> None:
    """A seal over a commit that nobody sealed would hide it; tables that disagree would seem to agree after it."""
    if wrong := [base.name for base in bases.values() if base.sealed is None or base.unsealed]:
        raise CannotDeduplicate(
            f"{', '.join(wrong)}: not everything is sealed.", remedy="look at `lakehouse audit`, then `lakehouse adopt`"
        )
    told = [KafkaStatement.from_keys(base.sealed.seal.statement) for base in bases.values() if base.sealed]
    if any(other != told[0] for other in told):
        raise CannotDeduplicate(
            f"{', '.join(bases)}: the tables of the stream do not agree.", remedy="look at `lakehouse audit`"
        )


def _closed(
    work: Work, action: Action, base: Base, policy: Deduplicate, state: State
) -> dict[PartitionKey, PartitionState]:
    """The action's partitions by where they are; all of the table if it names none."""
    wanted = {partition.key for partition in action.partitions}
    measured = {one.partition.key: one for one in state.partitions or ()}
    places = {partition_of(task.file) for task in base.table.scan(snapshot_id=base.snapshot_id).plan_files()}
    found = {
        place: measured[partition_named(base.table, work.declared, *place).key] for place in sorted(places, key=str)
    }
    chosen = {place: one for place, one in found.items() if not wanted or one.partition.key in wanted}
    for one in chosen.values():
        at = closes_at(last_known(one, state), policy)
        if at > state.measured_at:
            raise OpenPartition(
                f"{base.name}: {one.partition.name} is open until {at:%Y-%m-%d %H:%M:%S} UTC.",
                remedy="wait, or declare a shorter Deduplicate(closed_after=…)",
            )
    return chosen
