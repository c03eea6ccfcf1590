"""Branches of attempts that died go, with their files."""

from datetime import UTC, datetime, timedelta

import pytest
from pyiceberg.exceptions import CommitFailedException

from lakehouse.declarations import Maintenance
from lakehouse.protocol.commit import stage_files
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.maintenance.expire import branches
from lakehouse.steps.maintenance.model.action import Action, Operation
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.protocol.commit.oracle import Oracle
from lakehouse_tests.steps.maintenance.house import LOG, House, work_on

pytestmark = pytest.mark.slow


@pytest.mark.usefixtures("storage_of_our_clock")
def test_branches_that_died_go_with_their_files(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    name = sql_lake.create("a")
    sql_lake.write("first", a=[1])
    base = sql_lake.bases(name)[name]
    dead = Attempt(run_id="dead", step="s")
    stage_files(sql_lake.catalog, base, dead, sql_lake.files(name, [2]))
    declared = House.of(sql_lake).declarations
    declared.tables[name] = declared.tables[LOG]
    action = Action(operation=Operation.BRANCHES)

    def run(*, allow: bool = True, hours: float = 0) -> tuple[str, dict[str, object]]:
        work = work_on(sql_lake.catalog, declared, name, Maintenance(), allow=allow, longest_run=timedelta(hours=hours))
        done = branches.run(work, action)
        return done.result, dict(done.effect.counted())

    assert run() == ("nothing", {})
    now = datetime.now(UTC).timestamp()
    monkeypatch.setattr("time.time_ns", lambda: int((now + 30 * 3600) * 1e9))
    assert run(hours=40) == ("nothing", {})  # runs have taken longer than that
    assert run(allow=False) == ("dry_run", {"branches": 1})
    assert Oracle.of(sql_lake).refs("a") == {"main", dead.branch}
    assert run() == ("done", {"branches": 1, "files": 1})
    oracle = Oracle.of(sql_lake)
    assert oracle.refs("a") == {"main"}
    assert oracle.files_on_disk("a") == oracle.files("a")


@pytest.mark.usefixtures("storage_of_our_clock")
def test_a_refused_drop_is_no_reason_to_fail(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    name = sql_lake.create("a")
    sql_lake.write("first", a=[1])
    sql_lake.stage(sql_lake.bases(name)[name], Attempt(run_id="dead", step="s"), [2])
    declared = House.of(sql_lake).declarations
    declared.tables[name] = declared.tables[LOG]
    work = work_on(sql_lake.catalog, declared, name, Maintenance())
    now = datetime.now(UTC).timestamp()
    monkeypatch.setattr("time.time_ns", lambda: int((now + 30 * 3600) * 1e9))

    def refuse(*_: object) -> int:
        raise CommitFailedException("it was published")

    monkeypatch.setattr(branches, "drop_branch", refuse)
    done = branches.run(work, Action(operation=Operation.BRANCHES))
    assert done.result == "nothing"
    assert "moved meanwhile and stays" in done.message
