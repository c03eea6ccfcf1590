"""Kill −9 at every named point of a commit: its tables are wholly old or wholly new, and the next attempt completes.

Guarded mechanisms: work on a branch of the attempt's own, one transaction for all tables of a step, branches removed by
that same transaction, and housekeeping that deletes only what no reference sees.
"""

import signal
from datetime import timedelta

import pytest

from lakehouse.protocol.cleanup.housekeeping import abandoned_branches, drop_branch
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.protocol.commit.children import Child, work_on
from lakehouse_tests.protocol.commit.oracle import Oracle

pytestmark = [pytest.mark.kill, pytest.mark.slow]
TABLES = ("a", "b")
POINTS = {
    "stage.before": "old",
    "stage.between": "old",  # the first table's rows are on its branch, the second's are not
    "seal.before": "old",
    "seal.after": "old",
    "publish.before": "old",
    "publish.after": "new",
}


@pytest.mark.parametrize("first_commit", [True, False], ids=["first-commit", "later-commit"])
@pytest.mark.parametrize("point", POINTS)
def test_killed_at(lake: Lake, point: str, first_commit: bool) -> None:
    for name in TABLES:
        lake.create(name)
    before: dict[int, str] = {}
    if not first_commit:
        lake.write("first", a=[1], b=[1])
        before = {1: "1"}
    work = work_on(lake, "killed", {"a": [2, 3], "b": [2, 3]}, failpoints=f"{point}=kill")
    with Child(work) as child:
        child.go_on()
        child.go_on()
        assert child.exit_code() == -signal.SIGKILL
    oracle = Oracle.of(lake)
    after = before | {2: "2", 3: "3"} if POINTS[point] == "new" else before
    assert [oracle.rows(name) for name in TABLES] == [after, after]

    lake.write("next", a=[4], b=[4])
    after = after | {4: "4"}
    assert [oracle.rows(name) for name in TABLES] == [after, after]
    _housekeeping_removes_the_rest(lake, oracle)
    assert [oracle.rows(name) for name in TABLES] == [after, after]
    lake.write("last", a=[5], b=[5])
    assert [oracle.rows(name) for name in TABLES] == [after | {5: "5"}] * 2


def _housekeeping_removes_the_rest(lake: Lake, oracle: Oracle) -> None:
    for name in TABLES:
        for abandoned in abandoned_branches(lake.load(f"{lake.namespace}.{name}"), older_than=timedelta(0)):
            drop_branch(lake.catalog, abandoned)
        assert oracle.refs(name) == {"main"}
        reachable = {snapshot["snapshot-id"] for snapshot in oracle.history(name)}
        assert {snapshot["snapshot-id"] for snapshot in oracle.document(name)["snapshots"]} == reachable
        # A file that was written and then never added to a branch is orphan removal's, much later.
        assert oracle.files(name) <= oracle.files_on_disk(name)
