"""A pin goes with its run, however that ends.

Guarded mechanism: whoever pins next, or looks at ended runs, asks Dagster who works no more.
"""

import uuid

import dagster as dg
import pytest
from dagster._core.execution.backfill import BulkActionStatus, PartitionBackfill

from lakehouse.orchestration.resources.pins.ended_pins import drop_ended_pins, ended_owners, pin_of_execution
from lakehouse.orchestration.run_context import Execution
from lakehouse.steps.derived.inputs.pins import PIN_PREFIX, Pin, pin_inputs
from lakehouse_tests.fixtures.lakes import Lake

BEGUN_MS = 1_700_000_000_000
ENDS = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]


@pytest.fixture
def instance() -> dg.DagsterInstance:
    return dg.DagsterInstance.ephemeral()


def run(instance: dg.DagsterInstance, status: dg.DagsterRunStatus, root: str | None = None) -> str:
    tags = {"dagster/root_run_id": root, "dagster/parent_run_id": root} if root else {}
    made = dg.DagsterRun(
        "job", run_id=str(uuid.uuid4()), status=status, root_run_id=root, parent_run_id=root, tags=tags
    )
    return instance.add_run(made).run_id


def pinned_by(instance: dg.DagsterInstance, lake: Lake, name: str, owner: str) -> Pin:
    pin = pin_of_execution(Execution(owner, BEGUN_MS), instance)
    pin_inputs(lake.catalog, [name], pin)
    return pin


def pins(lake: Lake, name: str) -> list[str]:
    return sorted(ref for ref in lake.load(name).metadata.refs if ref.startswith(PIN_PREFIX))


@pytest.fixture
def name(sql_lake: Lake) -> str:
    made = sql_lake.create("a")
    sql_lake.write("first", a=[1])
    return made


def test_the_next_pin_takes_those_of_ended_runs_along(sql_lake: Lake, name: str, instance: dg.DagsterInstance) -> None:
    for status in ENDS:
        pinned_by(instance, sql_lake, name, run(instance, status))
    working = pinned_by(instance, sql_lake, name, run(instance, dg.DagsterRunStatus.STARTED))
    unknown = pinned_by(instance, sql_lake, name, "of-another-machine")
    latest = pinned_by(instance, sql_lake, name, run(instance, dg.DagsterRunStatus.STARTED))
    assert pins(sql_lake, name) == sorted([working.tag, unknown.tag, latest.tag])


def test_a_look_at_ended_runs_drops_what_no_later_pin_does(
    sql_lake: Lake, name: str, instance: dg.DagsterInstance
) -> None:
    killed = run(instance, dg.DagsterRunStatus.STARTED)
    pin = pinned_by(instance, sql_lake, name, killed)
    names = [name, f"{sql_lake.namespace}.missing"]
    assert drop_ended_pins(sql_lake.catalog, names, instance) == 0
    assert pins(sql_lake, name) == [pin.tag]
    ended = instance.get_run_by_id(killed)
    assert ended is not None
    instance.report_run_failed(ended, "The process is gone.")
    assert drop_ended_pins(sql_lake.catalog, names, instance) == 1
    assert pins(sql_lake, name) == []


def test_a_run_that_is_executed_again_keeps_its_pin_until_then(
    sql_lake: Lake, name: str, instance: dg.DagsterInstance
) -> None:
    root = run(instance, dg.DagsterRunStatus.FAILURE)
    run(instance, dg.DagsterRunStatus.NOT_STARTED, root)
    pin = pinned_by(instance, sql_lake, name, root)
    later = pinned_by(instance, sql_lake, name, run(instance, dg.DagsterRunStatus.STARTED))
    assert pins(sql_lake, name) == sorted([pin.tag, later.tag])


def test_a_backfill_and_a_step_of_a_run_end_with_theirs(instance: dg.DagsterInstance) -> None:
    for backfill, status in (
        ("abcdefgh", BulkActionStatus.COMPLETED_SUCCESS),
        ("zyxwvuts", BulkActionStatus.REQUESTED),
    ):
        made = PartitionBackfill(backfill, status, from_failure=False, tags={}, backfill_timestamp=0.0)
        instance.add_backfill(made)
    done, working = (
        run(instance, status).replace("-", "_") + "_step_0"
        for status in (dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.STARTED)
    )
    assert ended_owners(instance, {"abcdefgh", "zyxwvuts", "unknown", done, working}) == {"abcdefgh", done}
