"""Has everything between the last release and this one that calls itself a rewrite kept every row?

A seal vouches for the rows of its snapshot, and of those after it that only rearrange files. Of our own rewrites that
is proven before they are published; those of others are proven here, before readers get them.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from pyiceberg.table import Table

from lakehouse.steps.release.gate.results import Reason
from lakehouse.steps.release.remedies import Remedies
from lakehouse.steps.release.statement import ReleaseMember


class FindChangedRows(Protocol):
    """Looks for rewrites that others made, and that did not keep the rows."""

    def __call__(self, table: Table, snapshot_id: int, released: Collection[int]) -> Sequence[str]:
        """What each of them did, in a sentence: those that led to a snapshot, back to one that was released before."""
        ...


def rewrite_reasons(
    tables: Mapping[str, Table],
    snapshots: Mapping[str, int],
    released: Sequence[ReleaseMember],
    find_changed_rows: FindChangedRows,
    remedies: Remedies,
) -> list[Reason]:
    """Why members must not be released: a rewrite has changed what they hold.

    Args:
        tables: the members.
        snapshots: member → what is to be released.
        released: what was released last.
        find_changed_rows: looks at the rewrites of one member.
        remedies: what to do about each table.
    """
    before = {(member.table, member.uuid): member.snapshot_id for member in released}
    reasons: list[Reason] = []
    for name, snapshot_id in sorted(snapshots.items()):
        table = tables[name]
        last = before.get((name, str(table.metadata.table_uuid)))
        problems = find_changed_rows(table, snapshot_id, () if last is None else (last,))
        reasons += [
            Reason(name, problem.removeprefix(f"{name}: ").rstrip("."), remedies.without(name)) for problem in problems
        ]
    return reasons
