"""Statistics of columns are for query planners of Spark and Trino; PyIceberg goes on loading the table."""

from dataclasses import replace

import pytest
from pyiceberg.table import Table

from lakehouse.declarations import Declarations, Maintenance, Statistics
from lakehouse.protocol.seals.history import head_of
from lakehouse.steps.maintenance.measure.traits import traits_of
from lakehouse.steps.maintenance.model.action import Action, ActionOutcome, Operation
from lakehouse.steps.maintenance.rewrite import column_statistics
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.steps.maintenance.rewriting import NAME, Events

pytestmark = [pytest.mark.spark, pytest.mark.slow]
ACTION = Action(operation=Operation.STATISTICS)


def run(events: Events, *columns: str) -> ActionOutcome:
    policy = Maintenance(statistics=Statistics(columns=columns))
    events.declared = replace(events.declared, maintenance=policy)
    return column_statistics.run(events.work(), ACTION)


def counted(table: Table) -> dict[str, str]:
    (statistics_file,) = table.metadata.statistics
    names = {field.field_id: field.name for field in table.schema().fields}
    return {names[blob.fields[0]]: (blob.properties or {})["ndv"] for blob in statistics_file.blob_metadata}


def test_distinct_values_are_counted_and_the_table_stays_loadable(lake: Lake, spark_on: SparkOn) -> None:
    events = Events.create(lake, spark_on)
    assert run(events).result == "nothing"
    with spark_on(lake.settings) as spark:
        events.append(spark, range(8), range(4, 12))
    head, rows = head_of(events.table), events.rows()
    outcome = run(events, "id", "day")
    assert outcome.result == "done", outcome.message
    assert outcome.effect.columns == 2
    assert counted(events.table) == {"id": "12", "day": "2"}
    assert head_of(events.table) == head == outcome.snapshot_id
    assert events.rows() == rows
    declarations = Declarations({NAME: events.declared}, {}, {})
    assert traits_of(events.table, events.declared, declarations).statistics_rows == 16

    with spark_on(lake.settings) as spark:
        events.append(spark, range(20, 24))
    assert events.rows()[-1][0] == 23
    assert run(events, "id").result == "done"
    assert {statistics_file.snapshot_id for statistics_file in events.table.metadata.statistics} == {
        head,
        head_of(events.table),
    }
