"""A release is killed, as kill −9 does it, before and after each of its commits; what then?

Guarded mechanisms: tags before pointer; a retry of the same root run finds what it has tagged; whoever releases next
drops the tags of those who never moved the pointer.
"""

import os
import signal
from dataclasses import dataclass
from typing import Any

import pytest

from lakehouse.protocol.catalog import open_catalog
from lakehouse.settings import CatalogSettings
from lakehouse.steps.release.audit import audit_release
from lakehouse.steps.release.gate.results import Check, ReleaseHeld, Result
from lakehouse.steps.release.release_step import ReleaseStep
from lakehouse.steps.release.step import release
from lakehouse_tests.fixtures.lakes import SERVER_FIRST
from lakehouse_tests.protocol.commit.children import _CONTEXT, PATIENCE_SECONDS
from lakehouse_tests.steps.release.conftest import Group, MakeGroup

pytestmark = [pytest.mark.kill, pytest.mark.slow]


@dataclass(frozen=True)
class Killed:
    """What the child does."""

    settings: CatalogSettings
    step: dict[str, Any]
    failpoints: str


def _release(work: Killed) -> None:
    os.environ["LAKEHOUSE_FAILPOINTS"] = work.failpoints
    release(ReleaseStep(catalog=open_catalog(work.settings), **work.step))


def kill_at(group: Group, point: str, run_id: str = "killed", checks: list[Check] | None = None) -> None:
    """Release in a process that dies there."""
    step = group.step(run_id, checks)
    fields = {name: getattr(step, name) for name in ("release", "attempt", "find_changed_rows", "checks", "dated")}
    child = _CONTEXT.Process(target=_release, args=(Killed(group.lake.settings, fields, f"{point}=kill"),), daemon=True)
    child.start()
    child.join(PATIENCE_SECONDS)
    assert child.exitcode == -signal.SIGKILL


@pytest.mark.parametrize("lake", SERVER_FIRST, indirect=True)
@pytest.mark.parametrize("point", ["release.judged", "release.tagged", "seal.before", "publish.before"])
def test_killed_before_the_pointer_a_retry_makes_one_release(group: Group, point: str) -> None:
    group.make()
    first = group.release("first")
    group.make()
    kill_at(group, point)
    assert group.open().id == first.id
    assert group.vintages() == [1, 1, 1]
    tagged = group.tags()
    assert len(tagged) == (1 if point == "release.judged" else 2)
    done = group.release("retry", root_run_id="killed")
    assert done.outcome == ("released" if point == "release.judged" else "completed")
    assert len(group.tags()) == 2
    assert set(tagged) <= set(group.tags())
    assert group.vintages() == [2, 2, 2]
    assert audit_release(group.catalog, group.declared).holds


@pytest.mark.parametrize("lake", SERVER_FIRST, indirect=True)
@pytest.mark.parametrize("point", ["publish.after", "release.moved"])
def test_killed_after_the_pointer_a_retry_finds_it_done(group: Group, point: str) -> None:
    group.make()
    kill_at(group, point)
    moved = group.open()
    done = group.release("retry", root_run_id="killed")
    assert (done.outcome, done.id, done.members) == ("already", moved.id, moved.members)
    assert len(group.tags()) == 1


def test_the_retry_completes_what_was_judged_though_a_writer_went_on(group: Group) -> None:
    group.make()
    kill_at(group, "release.tagged")
    group.make()
    done = group.release("retry", checks=[], root_run_id="killed")
    assert done.outcome == "completed"
    assert group.vintages() == [1, 1, 1]


def test_what_was_found_wrong_since_is_not_completed(sql_group: MakeGroup) -> None:
    group = sql_group()
    group.make()
    kill_at(group, "release.tagged")
    since = Result("failed", group.head("a"), "later", "One file has another date.")
    with pytest.raises(ReleaseHeld, match="check good failed on snapshot"):
        group.release("retry", group.checks(a=since), root_run_id="killed")
    assert group.load_pointer() is None


def test_another_run_makes_its_own_and_drops_what_is_left(group: Group) -> None:
    group.make()
    kill_at(group, "release.tagged")
    (left,) = group.tags()
    group.make()
    done = group.release("another")
    assert (done.outcome, group.vintages()) == ("released", [2, 2, 2])
    assert left not in group.tags()
    # The one that was killed comes too late now: what it tagged is older than what readers have.
    again = group.release("late", root_run_id="killed")
    assert (again.outcome, again.id) == ("unchanged", done.id)


def test_a_tagged_member_that_was_rolled_back_since_is_judged_again(group: Group) -> None:
    group.make()
    before = group.head("c")
    group.make()
    kill_at(group, "release.tagged")
    group.load("c").manage_snapshots().set_current_snapshot(snapshot_id=before).commit()
    with pytest.raises(Exception, match="was read in 2 versions"):
        group.release("retry", root_run_id="killed")
