"""Decisions as rows: there once, whole, and without the value of a sensitive column."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow

from lakehouse.declarations import MAINTENANCE_LOG, ORPHANS, Deduplicate, Expire, Maintenance, Rewrite, apply, plan
from lakehouse.declarations.own_tables.action_effect import ActionEffect
from lakehouse.declarations.own_tables.decision_row import DecisionRow
from lakehouse.protocol.seals.history import head_of
from lakehouse.steps.maintenance.log.history import History
from lakehouse.steps.maintenance.log.record import decided_rows, finished_row, record
from lakehouse.steps.maintenance.model.action import Action, ActionOutcome, Operation
from lakehouse.steps.maintenance.model.state import Depth, MeasuredState, Partition
from lakehouse.steps.maintenance.plan.budget import Budget
from lakehouse.steps.maintenance.survey import TableSurvey
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.maintenance.measure.test_measure import NOTHING_DECLARED as NOTHING
from lakehouse_tests.steps.maintenance.measure.test_measure import declared
from lakehouse_tests.steps.maintenance.states import BY_COUNT, DAY, HOUR, NOW, TARGET, decided, line, part, state

POLICY = BY_COUNT
SOUND = state(part(files=4, size=TARGET))
UNSOUND = state(part(), history=line(70))
MINUTE = timedelta(minutes=1)


def rows_of(measured: MeasuredState, policy: Maintenance = POLICY, *, attempt: str = "") -> list[DecisionRow]:
    """The rows of what is decided about a state."""
    return decided_rows(decided(measured, policy), measured, policy, run_id="run" if attempt else "", attempt=attempt)


def outcome(row: DecisionRow, result: Any = "done", **more: Any) -> ActionOutcome:
    """What came of the action of a row."""
    return ActionOutcome(action=Action(operation=Operation(row.operation)), result=result, **more)


def kept(lake: Lake) -> list[dict[str, Any]]:
    """All rows that the lake holds."""
    return lake.load(MAINTENANCE_LOG.name).scan().to_arrow().to_pylist()


@pytest.fixture
def home(sql_lake: Lake) -> Lake:
    sql_lake.catalog.create_namespace_if_not_exists("lakehouse")
    return sql_lake


def test_a_decision_is_a_row_with_its_reasons(home: Lake) -> None:
    assert record(home.catalog, rows_of(UNSOUND, attempt="a1"), writer="run") == 1
    [row] = kept(home)
    assert (row["operation"], row["phase"], row["result"], row["attempt"]) == ("rewrite", "decided", "chosen", "a1")
    assert row["at"] == NOW
    assert row["metadata_file"] == UNSOUND.document
    assert msgspec.json.decode(row["partitions"]) == ["day=1"]
    assert msgspec.json.decode(row["reasons"]) == ["day=1: 20 of 20 files are below 96.0 MiB, 20 of them fragments"]
    [waiting] = msgspec.json.decode(row["withheld"])
    assert (waiting["operation"], waiting["why"]) == ("expire", "after")
    assert (row["health"], row["predicted"]) == (None, None)
    stored_state = msgspec.json.decode(row["state"])
    assert stored_state["totals"]["files"] == 20
    assert [partition["partition"]["name"] for partition in stored_state["chosen"]] == ["day=1"]
    assert msgspec.json.decode(row["policy"])["rewrite"]["target_file_size"] == TARGET
    assert row["valid_until"] is None


def test_the_same_is_there_once_however_often_it_is_told(home: Lake) -> None:
    decided_twice = [*rows_of(UNSOUND), *rows_of(SOUND), *rows_of(UNSOUND)]
    assert record(home.catalog, decided_twice, writer="run") == 2
    before = head_of(home.load(MAINTENANCE_LOG.name))
    assert record(home.catalog, rows_of(MeasuredState.from_json(UNSOUND.to_json())), writer="another") == 0
    assert head_of(home.load(MAINTENANCE_LOG.name)) == before
    [row] = rows_of(UNSOUND)
    finished = finished_row(row, outcome(row), NOW + HOUR)
    assert [record(home.catalog, [row, finished], writer="run") for _ in range(2)] == [1, 0]
    assert len(kept(home)) == 3


def test_another_state_policy_or_attempt_is_another_row() -> None:
    ids = {
        row.row_id
        for row in (
            *rows_of(UNSOUND),
            *rows_of(replace(UNSOUND, measured_at=NOW + MINUTE)),
            *rows_of(UNSOUND, Maintenance(expire=Expire(at_least=9))),
            *rows_of(UNSOUND, attempt="a1"),
            *rows_of(UNSOUND, attempt="a2"),
        )
    }
    assert len(ids) == 5


def test_a_sensitive_partition_is_hidden_in_every_column() -> None:
    secret = replace(part(), partition=Partition(key="0123456789abcdef", name="name=***"))
    [row] = rows_of(state(secret))
    assert row.partitions == ("name=***",)
    assert any("name=***" in reason for reason in row.reasons)
    assert "name=***" in row.state


@pytest.mark.parametrize(
    ("measured", "policy", "result"),
    [
        (SOUND, POLICY, "nothing"),
        (state(part(last_change=NOW)), POLICY, "withheld"),
        (state(part()), Maintenance(excluded="by hand"), "excluded"),
        (UNSOUND, POLICY, "chosen"),
    ],
)
def test_what_was_decided_is_one_word(measured: MeasuredState, policy: Maintenance, result: str) -> None:
    assert [row.result for row in rows_of(measured, policy)] == [result]


def test_a_table_of_our_own_gets_a_row_only_where_something_is_done() -> None:
    for own in (MAINTENANCE_LOG.name, "lakehouse.audit_log"):
        assert rows_of(replace(SOUND, table=own)) == []
        assert rows_of(replace(state(part(last_change=NOW)), table=own)) == []
        assert len(rows_of(replace(UNSOUND, table=own))) == 1


def test_nothing_stands_until_the_table_changes_or_it_is_time(home: Lake) -> None:
    def until(
        table: str = "raw.things",
        document: str = SOUND.document,
        policy: Maintenance = POLICY,
        later: timedelta = HOUR,
    ) -> datetime | None:
        memory, now = History.read(home.catalog, NOW), NOW + later
        survey = TableSurvey(catalog=home.catalog, declarations=NOTHING, memory=memory, budget=Budget(), now=now)
        return survey.stands_until(declared(table, policy), f"file:///somewhere/metadata/{document}")

    record(home.catalog, rows_of(SOUND), writer="sensor")
    assert until() == NOW + DAY
    assert until(table="raw.others") is None
    assert until(document="00008-b.metadata.json") is None
    assert until(policy=Maintenance(rewrite=Rewrite(min_input_files=9))) is None
    assert until(later=DAY) is None
    record(home.catalog, rows_of(replace(UNSOUND, measured_at=NOW + MINUTE)), writer="sensor")
    assert until() is None


def test_what_waits_for_its_turn_does_not_stand() -> None:
    huge = decided(state(part(files=100, size=10 * 1024**2)), budget=Budget(bytes=1))
    assert decided_rows(huge, SOUND, POLICY)[0].valid_until is None
    waiting = rows_of(state(part(last_change=NOW)))
    assert waiting[0].valid_until == NOW + timedelta(minutes=15)


def test_failures_are_counted_since_the_last_success() -> None:
    [row] = rows_of(UNSOUND, attempt="a")
    results = ["done", "failed", "nothing", "overtaken", "proof_failed"]  # what found nothing to do finds it again
    ended = [finished_row(row, outcome(row, result), NOW + minute * MINUTE) for minute, result in enumerate(results)]
    memory = History(tuple(reversed(ended)))
    assert memory.failures("the uuid", Operation.REWRITE) == 4
    assert memory.failures("the uuid", Operation.EXPIRE) == 0
    last = memory.last("the uuid", Operation.REWRITE)
    assert last is not None
    assert last.result == "proof_failed"


def test_what_earlier_looks_noted_is_remembered(home: Lake) -> None:
    looked = Action(operation=Operation.ORPHANS, reasons=("x",))
    closed = Action(operation=Operation.DEDUPLICATE, partitions=(Partition(key="k", name="day=1"),), reasons=("x",))
    both = replace(decided(SOUND), actions=(looked, closed))
    rows = decided_rows(both, SOUND, POLICY, attempt="x")
    effect = ActionEffect(counted_until_ms=round((NOW - HOUR).timestamp() * 1000))
    ended = [finished_row(row, outcome(row, effect=effect), NOW + HOUR) for row in rows]
    record(home.catalog, [*rows, *ended], writer="run")
    apply(plan(ORPHANS, home.catalog), home.catalog)
    orphans = home.load(ORPHANS.name)
    # The look `y` has died: what it had on record as deleted may be there still.
    events = [("a", "candidate"), ("b", "candidate"), ("b", "reprieved"), ("c", "candidate"), ("c", "deleted")]
    events += [("d", "candidate"), ("d", "deleted")]
    seen = [
        {
            "look_id": "y" if path == "d" else "x",
            "at": NOW + minute * MINUTE,
            "table_name": "raw.things",
            "table_uuid": "the uuid",
            "path": path,
            "bytes": 1,
            "modified_at": NOW,
            "event": event,
            "longest_run_s": 1.0,
        }
        for minute, (path, event) in enumerate(events)
    ]
    orphans.append(pa.Table.from_pylist(seen, schema_to_pyarrow(orphans.schema(), include_field_ids=False)))
    memory = History.read(home.catalog, NOW).remembered("the uuid")
    assert memory.orphans_looked_at == NOW + HOUR
    assert memory.orphan_candidates == 2
    assert memory.deduplicated == {"k": NOW - HOUR}


def test_what_came_after_the_count_is_not_deduplicated(home: Lake) -> None:
    """The row is written later than the count, and rows may come in between."""
    policy = Maintenance(deduplicate=Deduplicate(order_by=("n desc",)))
    counted = part(files=4, size=TARGET, last_change=NOW - 3 * DAY)
    [row] = rows_of(state(counted), policy, attempt="a1")
    effect = ActionEffect(counted_until_ms=round((NOW - 2 * DAY).timestamp() * 1000))
    record(home.catalog, [row, finished_row(row, outcome(row, effect=effect), NOW)], writer="run")
    remembered = History.read(home.catalog, NOW).remembered("the uuid")
    assert remembered.deduplicated == {counted.partition.key: NOW - 2 * DAY}
    late = replace(counted, last_change=NOW - DAY - HOUR)
    for partition, due in ((counted, "nothing"), (late, "deduplicate")):
        seen = state(partition, remembered=replace(remembered, orphans_looked_at=NOW))
        assert decided(seen, policy).actions[0].operation == due


def test_when_files_were_counted_is_remembered_while_nothing_is_due(home: Lake) -> None:
    def counted_at() -> datetime | None:
        return History.read(home.catalog, NOW + HOUR).remembered("the uuid").counted_at

    totals = replace(SOUND, partitions=None, depth=Depth.TOTALS, measured_at=NOW + MINUTE)
    record(home.catalog, rows_of(totals), writer="sensor")
    assert counted_at() is None
    record(home.catalog, rows_of(SOUND), writer="sensor")
    assert counted_at() == NOW
    waiting = state(part(last_change=NOW), measured_at=NOW + 2 * MINUTE)
    record(home.catalog, rows_of(waiting), writer="sensor")
    assert counted_at() is None, "what waits is looked at when its time has come"


def test_rows_of_earlier_releases_are_read_and_what_they_had_is_null_from_now_on(home: Lake) -> None:
    """They have a health, and what was expected of the action, which no row of theirs was without."""
    apply(plan(MAINTENANCE_LOG, home.catalog), home.catalog)
    with home.load(MAINTENANCE_LOG.name).update_schema(allow_incompatible_changes=True) as schema:
        schema.update_column("predicted", required=True)
    expected = '{"bytes":1,"commit_ms":0.0,"files_removed":9,"plan_ms":1.0,"seconds":5.0,"survives":1.0}'
    measured = '{"after":{"bytes":1,"commit_ms":2.0,"files":1,"seconds":3.0},"before":{"files":20},"facts":{}}'
    [decided_then] = [replace(row, health=61.5, predicted=expected) for row in rows_of(UNSOUND, attempt="a")]
    ended = finished_row(decided_then, outcome(decided_then), NOW + MINUTE)
    old = [decided_then.to_columns(), replace(ended, measured=measured).to_columns()]
    table = home.load(MAINTENANCE_LOG.name)
    table.append(pa.Table.from_pylist(old, schema_to_pyarrow(table.schema(), include_field_ids=False)))
    assert record(home.catalog, rows_of(replace(UNSOUND, measured_at=NOW + HOUR)), writer="run") == 1
    assert not home.load(MAINTENANCE_LOG.name).schema().find_field("predicted").required
    assert {(row["health"], row["predicted"]) for row in kept(home)} == {(61.5, expected), (None, None)}
    memory = History.read(home.catalog, NOW + HOUR)
    assert memory.done_since("the uuid", Operation.REWRITE, NOW)
    assert memory.unfinished("the uuid") == ()


def test_nothing_is_remembered_where_nothing_was_ever_decided(sql_lake: Lake) -> None:
    assert History.read(sql_lake.catalog, NOW) == History((), {})
    assert record(sql_lake.catalog, [], writer="x") == 0
