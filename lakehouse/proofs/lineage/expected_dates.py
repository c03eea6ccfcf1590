"""Which runtime date a data file should hold: that of the run that its rows come from, as the seals say."""

from dataclasses import dataclass
from datetime import date
from typing import Protocol

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse import seal_keys
from lakehouse.declarations import Derived
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import table_name
from lakehouse.proofs.lineage.sealed import DERIVE, made
from lakehouse.protocol.commit.conflict_check import MAINTENANCE
from lakehouse.protocol.seals.history import ancestry, is_rewrite, summary_of
from lakehouse.protocol.seals.seal import Seal


class CannotCheckDates(LakehouseError):
    """Nobody can say whether the dates are right."""


@dataclass(frozen=True)
class ExpectedDates:
    """The date of some rows, and who says so.

    Args:
        dates: any of which is right.
        by: for a person.
        sure: whether another date is wrong; not if the seal that could say so has expired.
    """

    dates: frozenset[date]
    by: str
    sure: bool = True


class Expectation(Protocol):
    """Tells what a file should hold."""

    def __call__(self, added_by: int | None, /) -> ExpectedDates | None:
        """What files that a snapshot added should hold; None if nobody said what that snapshot is."""
        ...


def expectation(table: Table, snapshot: Snapshot, declared: Derived) -> Expectation:
    """How to find what the files of a snapshot should hold.

    Raises:
        CannotCheckDates: the seal that would tell has expired.
        SealBroken: it was changed after it was written.
    """
    if declared.mode == "full" and declared.partitions is None:
        of_the_last_run = _of_the_last_seal(table, snapshot)
        return lambda _: of_the_last_run
    return _OfEachAttempt(table, snapshot)


def _of_the_last_seal(table: Table, snapshot: Snapshot) -> ExpectedDates | None:
    """A table that is computed as a whole: its last run's date is everybody's."""
    step = made(table, snapshot.snapshot_id)
    if step.seal is not None and step.seal.kind == DERIVE:
        return _of_seal(step.seal)
    if not step.known or (step.seal is not None and step.seal.kind == MAINTENANCE):
        raise CannotCheckDates(
            f"{table_name(table)}: the seal of the run that computed snapshot {snapshot.snapshot_id} has expired.",
            remedy="compute the table anew",
        )
    return None  # nobody computed it


class _OfEachAttempt:
    """A table that grew run by run, or partition by partition: each attempt's date is its own files'."""

    def __init__(self, table: Table, snapshot: Snapshot) -> None:
        self._name = table_name(table)
        self._history = {ancestor.snapshot_id: ancestor for ancestor in ancestry(table, snapshot.snapshot_id)}
        self._summaries = {snapshot_id: summary_of(ancestor) for snapshot_id, ancestor in self._history.items()}
        self._sealed = {
            summary[seal_keys.ATTEMPT]: snapshot_id
            for snapshot_id, summary in self._summaries.items()
            if seal_keys.VERSION in summary and summary[seal_keys.KIND] == DERIVE
        }
        self._whole = any(ancestor.parent_snapshot_id is None for ancestor in self._history.values())
        self._known: dict[str, ExpectedDates] = {}

    def __call__(self, added_by: int | None) -> ExpectedDates | None:
        if added_by is None or added_by not in self._history:
            return ExpectedDates(frozenset(), "a run whose seal has expired", sure=False)
        attempt = self._summaries[added_by].get(seal_keys.ATTEMPT)
        if attempt in self._sealed:
            return self._dates_of(attempt)
        if is_rewrite(self._history[added_by]):  # the rows of several runs, in new files
            every = [self._dates_of(attempt).dates for attempt in self._sealed]
            return ExpectedDates(frozenset[date]().union(*every), "every run of the table", sure=self._whole)
        return None

    def _dates_of(self, attempt: str) -> ExpectedDates:
        if attempt not in self._known:
            snapshot_id = self._sealed[attempt]
            seal = Seal.from_summary(self._summaries[snapshot_id], where=f"{self._name} snapshot {snapshot_id}")
            assert seal is not None
            self._known[attempt] = _of_seal(seal)
        return self._known[attempt]


def _of_seal(seal: Seal) -> ExpectedDates:
    return ExpectedDates(frozenset({date.fromisoformat(seal.runtime_date)}), f"run {seal.run_id}")
