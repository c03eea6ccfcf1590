"""The decisions as they are read again."""

from dataclasses import replace

import pytest

from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.maintenance.log.history import History, completed
from lakehouse.steps.maintenance.log.record import record
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.protocol.commit.rewrites import append, create
from lakehouse_tests.steps.maintenance.log.test_record import UNSOUND, rows_of
from lakehouse_tests.steps.maintenance.states import HOUR, NOW


@pytest.fixture
def home(sql_lake: Lake) -> Lake:
    sql_lake.catalog.create_namespace_if_not_exists("lakehouse")
    return sql_lake


def test_a_decision_of_a_run_that_died_is_completed_by_what_is_in_main(home: Lake) -> None:
    name = create(home)
    landed, lost = append(home, name, {1: 1}).attempt.id, Attempt(run_id="run", step="x").id
    uuid = str(home.load(name).metadata.table_uuid)
    for attempt in (landed, lost):
        about = replace(UNSOUND, table=name, uuid=uuid)
        record(home.catalog, rows_of(about, attempt=attempt), writer="run")
    memory = History.read(home.catalog, NOW)
    unfinished = memory.unfinished(uuid)
    assert {row.attempt for row in unfinished} == {landed, lost}
    ended = [completed(row, home.load(name), NOW + HOUR) for row in unfinished]
    assert {row.attempt: row.result for row in ended} == {landed: "done", lost: "failed"}
    record(home.catalog, ended, writer="next")
    assert History.read(home.catalog, NOW).unfinished(uuid) == ()
