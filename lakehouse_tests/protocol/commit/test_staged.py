"""What waits to be published is one attempt's work, from its base on; nothing is loaded from a catalog."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyiceberg.table.snapshots import Operation, Snapshot, Summary

from lakehouse import seal_keys
from lakehouse.protocol.commit.staged import Staged, moved, require_descent
from lakehouse.protocol.errors import ForeignCommit
from lakehouse.protocol.seals.attempt import Attempt

MINE, OTHER = Attempt(run_id="r", step="s"), Attempt(run_id="r", step="s")


def table(*commits: tuple[int, Attempt | None]) -> Any:
    """A line of snapshots, oldest first, each with the attempt that made it."""
    snapshots: dict[int, Snapshot] = {}
    parent = None
    for snapshot_id, attempt in commits:
        marks = {seal_keys.ATTEMPT: attempt.id} if attempt else {}
        summary = Summary(Operation.APPEND, **marks)
        snapshots[snapshot_id] = Snapshot(
            **{
                "snapshot-id": snapshot_id,
                "parent-snapshot-id": parent,
                "sequence-number": 1,
                "timestamp-ms": 1,
                "manifest-list": "m",
                "summary": summary,
            }
        )
        parent = snapshot_id
    return cast("Any", SimpleNamespace(metadata=SimpleNamespace(snapshots=list(snapshots.values()))))


def staged(base: int | None, head: int, **more: Any) -> Staged:
    table_base = cast("Any", SimpleNamespace(name="raw.things", snapshot_id=base))
    return Staged(table_base, MINE, MINE.branch, head, cast("Any", None), **more)


def test_own_commits_down_to_the_base_are_sound() -> None:
    require_descent(table((1, None), (2, MINE), (3, MINE)), staged(1, 3))
    require_descent(table((2, MINE), (3, MINE)), staged(None, 3))


def test_a_commit_of_somebody_else_on_the_branch_is_refused() -> None:
    lines = table((1, None), (2, OTHER), (3, MINE))
    with pytest.raises(ForeignCommit, match=r"raw\.things: snapshot 2 on branch"):
        require_descent(lines, staged(1, 3))
    require_descent(lines, staged(1, 3, claimed=frozenset({2})))


def test_a_branch_that_left_its_base_is_refused() -> None:
    with pytest.raises(ForeignCommit, match="does not descend from snapshot 1"):
        require_descent(table((2, MINE), (3, MINE)), staged(1, 3))


def test_work_that_moved_remembers_the_branches_before() -> None:
    first = staged(1, 3)
    again = moved(first, base=first.base, branch="second", head=9, seal=first.seal)
    third = moved(again, base=first.base, branch="third", head=12, seal=first.seal)
    assert (third.branch, third.head, third.retired) == ("third", 12, (MINE.branch, "second"))


def test_rearranged_files_are_maintenance() -> None:
    assert not staged(1, 3).maintains
    assert staged(1, 3, claimed=frozenset({2})).maintains
