"""A row of `lakehouse.maintenance` becomes the columns of its table, and nothing else, and comes back as it was."""

from dataclasses import replace
from datetime import UTC, datetime

from pyiceberg.io.pyarrow import schema_to_pyarrow

from lakehouse.declarations import MAINTENANCE_LOG
from lakehouse.declarations.columns.schemas import iceberg_schema
from lakehouse.declarations.own_tables.action_effect import ActionEffect, ActionMeasures
from lakehouse.declarations.own_tables.decision_row import DecisionRow

ROW = DecisionRow(
    row_id="id",
    phase="decided",
    timestamp=datetime(2026, 1, 1, tzinfo=UTC),
    table_name="raw.things",
    table_uuid="uuid",
    snapshot_id=7,
    metadata_file="00001-a.metadata.json",
    run_id=None,
    attempt=None,
    operation="rewrite",
    partitions=("day=1",),
    partition_keys=("k",),
    reasons=("20 of 20 files are small",),
    blocked_by=(),
    withheld="[]",
    result="chosen",
    state='{"digest":"d","depth":"partitions","totals":{}}',
    policy="{}",
)


def test_the_columns_are_those_of_the_table() -> None:
    columns = ROW.to_columns()
    assert set(columns) == set(schema_to_pyarrow(iceberg_schema(MAINTENANCE_LOG)).names)
    assert columns["at"] == ROW.timestamp
    assert columns["partitions"] == '["day=1"]'
    assert columns["blocked_by"] == "[]"


def test_a_row_comes_back_as_it_was() -> None:
    measured = ActionMeasures(effect=ActionEffect(rows=7)).to_json()
    for row in (ROW, replace(ROW, phase="finished", measured=measured, health=61.5, predicted="{}")):
        assert DecisionRow.from_columns(row.to_columns()) == row


def test_a_row_says_what_was_measured_and_what_came_of_it() -> None:
    assert (ROW.state_digest, ROW.depth, ROW.finished) == ("d", "partitions", False)
    assert ROW.effect == ActionEffect()
    ended = replace(ROW, phase="finished", measured=ActionMeasures(effect=ActionEffect(rows=7)).to_json())
    assert (ended.finished, ended.effect) == (True, ActionEffect(rows=7))


def test_a_column_that_a_table_does_not_have_yet_is_null() -> None:
    columns = {name: value for name, value in ROW.to_columns().items() if name not in ("health", "predicted")}
    assert DecisionRow.from_columns(columns) == ROW
