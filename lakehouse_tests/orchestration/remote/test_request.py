"""What a driver is asked for says all that the step would have asked Dagster for."""

from types import SimpleNamespace
from typing import Any

import dagster as dg
import msgspec

from lakehouse.orchestration.remote.request import Answer, StepEnd, StepEvent, StepRequest


def test_a_request_has_what_the_step_would_ask_dagster_for() -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        for run_id, status in (("a", dg.DagsterRunStatus.STARTED), ("b", dg.DagsterRunStatus.SUCCESS)):
            instance.add_run(dg.DagsterRun(job_name="x", run_id=run_id, status=status))
        run = dg.DagsterRun(
            job_name="x",
            run_id="c",
            root_run_id="b",
            parent_run_id="b",
            tags={
                "team": "birds",
                "dagster/partition": "2013-05-14",
                "dagster/run_key": "k",
                "dagster/max_retries": "3",
            },
            run_config={"ops": {"x": {"config": 1}}, "execution": {"y": 2}, "loggers": {}},
        )
        context: Any = SimpleNamespace(run=run, instance=instance, selected_asset_keys={dg.AssetKey(["raw", "birds"])})
        request = StepRequest.of(context, "UTC")
        record = instance.get_run_record_by_id("b")
    assert record is not None
    assert (request.run_id, request.root_run_id, request.asset_keys) == ("c", "b", ["raw/birds"])
    assert request.begun_ms == int(record.create_timestamp.timestamp() * 1000)
    day = record.create_timestamp.date().isoformat()
    assert request.tags == {"team": "birds", "dagster/partition": "2013-05-14", "lakehouse/runtime_date": day}
    assert request.run_config == {"ops": {"x": {"config": 1}}}
    assert request.under_way == ["a"]
    assert msgspec.convert(msgspec.to_builtins(request), StepRequest) == request


def test_answers_are_told_apart() -> None:
    for answer in (StepEvent("{}"), StepEnd(outcome="success", seconds=1.0)):
        assert msgspec.convert(msgspec.to_builtins(answer), Answer) == answer
