"""The catalog applied a commit and its answer never arrived: the run must recognise its own work, and only that."""

import sys
from collections.abc import Callable

import pytest
from pyiceberg.exceptions import CommitStateUnknownException

from lakehouse.protocol.commit import publish
from lakehouse.protocol.errors import PublishUnresolved, RolledBack
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse_tests.fixtures.lakes import Lake

pytestmark = pytest.mark.slow

FAULTS = ["503", "cut", "apply-then-503", "apply-then-cut"]


def _while_waiting(monkeypatch: pytest.MonkeyPatch, act: Callable[[float], None]) -> None:
    # The publish's own waiting alone: other threads of this process, such as Py4J's, sleep as well.
    monkeypatch.setattr(sys.modules[publish.__module__], "pause", act)


@pytest.mark.rest
@pytest.mark.parametrize("fault", FAULTS)
def test_publish_survives_a_lost_answer(rest_lake: Lake, fault: str) -> None:
    assert rest_lake.rest
    names = [rest_lake.create("a"), rest_lake.create("b")]
    bases = rest_lake.bases(*names)
    work = Attempt(run_id="r", step="s")
    staged = [rest_lake.stage(bases[name], work, [1]) for name in names]
    rest_lake.rest.fail_next(fault, on="transaction")
    publish(rest_lake.catalog, staged)
    assert rest_lake.rest.faults()["done"] == 1
    assert [rest_lake.rows(name) for name in names] == [[1], [1]]


@pytest.mark.rest
@pytest.mark.parametrize("fault", FAULTS)
def test_staging_and_sealing_survive_a_lost_answer(rest_lake: Lake, fault: str) -> None:
    assert rest_lake.rest
    name = rest_lake.create("a")
    rest_lake.write("first", a=[1])
    base = rest_lake.bases(name)[name]
    rest_lake.rest.fail_next(fault, times=2)
    publish(rest_lake.catalog, [rest_lake.stage(base, Attempt(run_id="r", step="s"), [2])])
    assert rest_lake.rows(name) == [1, 2]


@pytest.mark.rest
def test_an_operators_rollback_after_a_lost_answer_is_not_undone(
    rest_lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rest_lake.rest
    name = rest_lake.create("a")
    rest_lake.write("first", a=[1])
    base = rest_lake.bases(name)[name]
    staged = rest_lake.stage(base, Attempt(run_id="r", step="s"), [2])
    rest_lake.rest.fail_next("apply-then-503", on="transaction")

    def roll_back(_: float) -> None:  # the operator acts while we wait before looking again
        rest_lake.load(name).manage_snapshots().set_current_snapshot(base.snapshot_id).commit()

    _while_waiting(monkeypatch, roll_back)
    with pytest.raises(RolledBack):
        publish(rest_lake.catalog, [staged])
    monkeypatch.undo()
    assert rest_lake.rows(name) == [1]


@pytest.mark.rest
def test_a_catalog_that_never_answers_leaves_the_files(rest_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rest_lake.rest
    name = rest_lake.create("a")
    staged = rest_lake.stage(rest_lake.bases(name)[name], Attempt(run_id="r", step="s"), [1])
    _while_waiting(monkeypatch, lambda _: None)
    rest_lake.rest.fail_next("503", on="transaction", times=1000)
    with pytest.raises(PublishUnresolved, match="run the step again"):
        publish(rest_lake.catalog, [staged])
    rest_lake.rest.clear_faults()
    assert rest_lake.rows(name) == []
    publish(rest_lake.catalog, [staged])
    assert rest_lake.rows(name) == [1]


def test_the_sql_catalog_may_lose_an_answer_too(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = sql_lake
    name = lake.create("a")
    staged = lake.stage(lake.bases(name)[name], Attempt(run_id="r", step="s"), [1])
    real = type(lake.catalog).commit_tables
    answers = iter([CommitStateUnknownException("lost"), None])

    def lossy(self: object, changes: object) -> None:
        real(self, changes)
        if error := next(answers):
            raise error

    monkeypatch.setattr(type(lake.catalog), "commit_tables", lossy)
    publish(lake.catalog, [staged])
    assert lake.rows(name) == [1]
