"""`lakehouse maintain`, as a person calls it. What it does: `steps/maintenance/test_step.py` and `test_upkeep.py`."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from lakehouse.cli import app
from lakehouse.cli.commands.maintain import maintain
from lakehouse.cli.commands.prove.audit_leases import LEASES
from lakehouse.cli.commands.prove.audit_scope import Auditing
from lakehouse.cli.context import Context
from lakehouse.cli.reports.outcome import RunOutcome
from lakehouse.declarations import MAINTENANCE_LOG, Expire, Maintenance
from lakehouse.protocol.catalog import TableChange, remove_ref, remove_snapshots
from lakehouse.steps.maintenance.log.history import History
from lakehouse.steps.maintenance.log.record import decided_rows, record
from lakehouse.steps.maintenance.model.action import Operation
from lakehouse.steps.maintenance.plan.budget import Budget
from lakehouse.steps.maintenance.survey import TableSurvey
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.maintenance.house import COPY, LOG, MIRROR, House, days_ahead

pytestmark = pytest.mark.slow

FEW = Maintenance(
    rewrite=None, manifests=None, orphans=None, expire=Expire(min_snapshots_to_keep=2, max_snapshots=3, at_least=3)
)


@pytest.fixture
def house(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> House:
    made = House.of(sql_lake)
    made.declarations.tables[LOG] = replace(made.declarations.tables[LOG], maintenance=FEW)
    monkeypatch.setattr("lakehouse.cli.declared.load_sound", lambda *_, **__: made.declarations)
    monkeypatch.setattr("lakehouse.cli.commands.maintain.maintain.catalog_of", lambda _: made.catalog)
    return made


def call(*words: str) -> Result:
    return CliRunner().invoke(app, ("maintain", *words), env={"COLUMNS": "80"})


def test_a_plan_says_what_is_due_why_and_why_not_and_changes_nothing(house: House) -> None:
    first, *_ = house.grow(6)
    before = {name: house.catalog.load_table(tuple(name.split("."))).metadata_location for name in _names(house)}
    shown = call("--plan")
    assert shown.exit_code == 0, shown.output
    assert f"{LOG}: " in shown.stdout
    assert "  expire\n" in shown.stdout
    assert f"\n{MIRROR}: nothing to do\n" in shown.stdout
    assert shown.stdout.splitlines()[-1].startswith(f"{len(_names(house))} tables: 1 needs something, 0 wait, ")
    for whole in (call("--plan", "-v").stdout, call(MIRROR, "--plan").stdout):
        assert "  nothing, because\n" in whole
    plan = json.loads(call("--plan", "--json").stdout)
    assert set(plan["tables"]) == set(_names(house))
    [action] = plan["tables"][LOG]["actions"]
    assert action["operation"] == "expire"
    assert action["reasons"]
    house.mirror(first, until=days_ahead(1))
    [action] = json.loads(call(LOG, "--plan", "--json").stdout)["tables"][LOG]["actions"]
    assert action["operation"] == "nothing"
    assert any(MIRROR in who for who in action["blocked_by"])
    assert "not now: expire (blocked)" in call(LOG, "--plan").stdout
    after = {name: house.catalog.load_table(tuple(name.split("."))).metadata_location for name in before}
    assert {name for name in before if after[name] != before[name]} <= {LOG, *_mirror(house)}
    assert not house.catalog.table_exists(MAINTENANCE_LOG.identifier)


def _names(house: House) -> Sequence[str]:
    return list(house.declarations.tables)


def _mirror(house: House) -> Sequence[str]:
    return [table.name for table in house.declarations.mirrors[MIRROR].tables]


def test_only_what_is_asked_for_is_planned(house: House) -> None:
    house.grow(6)
    plan = json.loads(call(LOG, "--plan", "--json", "--only", "manifests").stdout)
    assert [action["operation"] for action in plan["tables"][LOG]["actions"]] == ["nothing"]


def test_a_slip_is_told_at_once(house: House) -> None:
    assert "There is no table raw.nothing." in call("raw.nothing", "--plan").stderr
    unknown = call("--only", "polish")
    assert unknown.exit_code == 2
    assert "There is no operation polish. Remedy: name some of branches, leases" in unknown.stderr
    assert house.line == []


@pytest.mark.parametrize("words", [(), ("--yes",)])
def test_what_is_due_is_done_and_what_deletes_asks_for_a_yes(
    house: House, monkeypatch: pytest.MonkeyPatch, words: Sequence[str]
) -> None:
    house.grow(6)
    asked: list[tuple[Sequence[str], Sequence[Operation], Mapping[str, str]]] = []

    def run(
        _: Any, names: Sequence[str], operations: Sequence[Operation], approved: Mapping[str, str], **__: Any
    ) -> None:
        asked.append((names, operations, approved))

    monkeypatch.setattr(maintain, "_run", run)
    assert call(*words, "--only", "expire").exit_code == 0
    rows = [row for row in History.read(house.catalog, datetime.now(UTC)).rows if row.table_name == LOG]
    digests = [row.state_digest for row in rows]
    assert len(digests) == len(words)
    assert asked == [([LOG], (Operation.EXPIRE,), {LOG: digests[0]} if words else {})]


def test_where_nothing_was_done_the_command_says_why(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    first, *_ = house.grow(6)
    house.mirror(first, until=days_ahead(1))
    now, memory = datetime.now(UTC), History.read(house.catalog, datetime.now(UTC))
    survey = TableSurvey(
        catalog=house.catalog, declarations=house.declarations, memory=memory, budget=Budget(), now=now
    )
    surveyed = survey.look(house.declarations.tables[LOG])
    assert surveyed is not None
    record(house.catalog, decided_rows(surveyed.plan, surveyed.state, FEW, run_id="a run"), writer="a run")

    def made(_: Context, __: object, show: Callable[[RunOutcome], None], *, as_json: bool) -> None:
        show(RunOutcome(runs=["a run"]))

    monkeypatch.setattr("lakehouse.cli.processes.single_run.make_run", made)
    printed = call(LOG, MIRROR).stdout
    assert f"{LOG}: nothing, because\n" in printed
    assert "    expire, blocked: " in printed
    assert f" snapshots: mirror {MIRROR} needs snapshot" in printed
    assert f"to end it: lakehouse lease release {LOG} {MIRROR} --yes" in printed
    assert f"{MIRROR}: nothing; `lakehouse maintain {MIRROR} --plan` says why." in printed
    [row] = json.loads(call(LOG, "--json").stdout)
    assert (row["result"], len(row["blocked_by"])) == ("blocked", 1)


def test_where_nothing_is_due_nothing_is_started(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintain, "_run", _never)
    house.grow(1)
    assert "Nothing is due." in call().stdout
    assert json.loads(call("--json").stdout) == []


def test_what_is_due_is_told_of_all_tables_however_much_it_is(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.grow(6)
    for seal in house.line[:5]:
        house.mirror(seal)
    house.declarations.tables[MIRROR] = replace(house.declarations.tables[MIRROR], maintenance=FEW)
    monkeypatch.setattr("lakehouse.cli.commands.maintain.maintain.Budget.of", lambda _: Budget(runs=1))
    tables = json.loads(call("--plan", "--json").stdout)["tables"]
    assert [tables[name]["actions"][0]["operation"] for name in (LOG, MIRROR)] == ["expire", "expire"]


def test_a_table_that_cannot_be_looked_at_is_named_and_no_other_waits_for_it(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintain, "_run", _never)
    broken = house.catalog.load_table(tuple(COPY.split("."))).metadata_location.removeprefix("file://")
    Path(broken).unlink()
    for words in (("--plan",), ("--plan", "--json"), ()):
        result = call(*words)
        assert result.exit_code == 2, result.output
        assert f"{COPY} could not be looked at: {COPY}: metadata file" in result.stderr
        # Nobody knows what it holds of the changelog that it reads.
        assert f"{LOG} could not be looked at" in result.stderr
        assert "mirror.things could not" not in result.stderr


def _never(*_: object, **__: Mapping[str, object]) -> None:
    raise AssertionError("a run was started")


def test_the_audit_tells_who_cannot_read_on_and_which_lease_is_overdue(house: House) -> None:
    first, *_ = house.grow(4)
    house.mirror(first, until=days_ahead(-1))
    assert list(LEASES.names(house.declarations)) == sorted(house.declarations.tables)
    auditing = Auditing(house.catalog, house.declarations)
    proof = LEASES.prove(auditing, LOG)
    assert proof.holds
    assert f"the lease of mirror {MIRROR}" in proof.overdue[0]
    house.copy(house.head)
    gone = [snapshot.snapshot_id for snapshot in house.log.metadata.snapshots][:4]
    tag = next(name for name, ref in house.log.metadata.refs.items() if ref.snapshot_id == first)

    house.catalog.commit_tables([TableChange(house.log.name(), (), (remove_ref(tag), remove_snapshots(gone)))])
    broken = LEASES.prove(auditing, LOG)
    assert not broken.holds
    assert f"mirror {MIRROR} cannot read on" in broken.findings[0].message
    assert broken.as_json()["holds"] is False
