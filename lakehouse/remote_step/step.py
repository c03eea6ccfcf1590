"""Does one step of a run that Dagster has recorded elsewhere, by the same definitions, and says what became of it."""

import logging
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import dagster as dg
import msgspec
from dagster import DagsterEventType
from dagster._core.utils import make_new_run_id
from dagster._serdes import serialize_value
from dagster_pipes import PipesContext
from typing_extensions import override

from lakehouse.build import build_defs
from lakehouse.orchestration.remote.request import REQUEST, Answer, StepEnd, StepEvent, StepRequest
from lakehouse.orchestration.run_context import CREATED_TAG
from lakehouse.settings import Settings

_ELSEWHERE = "elsewhere"
_EVENTS = (DagsterEventType.ASSET_MATERIALIZATION, DagsterEventType.ASSET_OBSERVATION)


class _ToPipes(logging.Handler):
    """Sends what a step logs, as it logs it."""

    def __init__(self, pipes: PipesContext) -> None:
        super().__init__()
        self._pipes = pipes

    @override
    def emit(self, record: logging.LogRecord) -> None:
        meta: dict[str, Any] = getattr(record, "dagster_meta", {})
        if meta.get("dagster_event") is None:
            self._pipes.log.log(record.levelno, meta.get("orig_message") or record.getMessage())


def do_step(pipes: PipesContext, settings: Settings) -> bool:
    """Do what is asked for, and report log lines, events and the end. Whether it succeeded."""
    began = time.monotonic()
    request = msgspec.convert(pipes.get_extra(REQUEST), StepRequest)
    with dg.DagsterInstance.ephemeral() as instance:
        result = _execute(request, instance, pipes, settings)
    for event in result.all_events:
        if event.event_type in _EVENTS:
            _answer(pipes, StepEvent(serialize_value(_reported(event))))
    end = _end(result, time.monotonic() - began)
    _answer(pipes, end)
    return end.outcome == "success"


def _execute(
    request: StepRequest, instance: dg.DagsterInstance, pipes: PipesContext, settings: Settings
) -> dg.ExecuteInProcessResult:
    @dg.logger
    def to_pipes(_: dg.InitLoggerContext) -> logging.Logger:
        logger = logging.Logger("lakehouse.remote_step", logging.INFO)
        logger.addHandler(_ToPipes(pipes))
        return logger

    defs = dg.Definitions.merge(build_defs(settings), dg.Definitions(loggers={"console": to_pipes}))
    keys = {dg.AssetKey.from_user_string(key) for key in request.asset_keys}
    # Its checks are steps of their own, which Dagster's process takes without Spark.
    job = defs.resolve_implicit_global_asset_job_def().get_subset(asset_selection=keys, asset_check_selection=set())
    remember(instance, request)
    return job.execute_in_process(
        instance=instance,
        run_id=request.run_id,
        tags={**request.tags, CREATED_TAG: str(request.begun_ms)},
        run_config={**request.run_config, "loggers": {"console": {}}},
        raise_on_error=False,
    )


def remember(instance: dg.DagsterInstance, request: StepRequest) -> None:
    """Have an instance of this process alone know what the real one knows of other runs, and whose this run is."""
    for run_id in set(request.under_way) - {request.run_id}:
        instance.add_run(dg.DagsterRun(job_name=_ELSEWHERE, run_id=run_id, status=dg.DagsterRunStatus.STARTED))
    longest, now = dg.DagsterRun(job_name=_ELSEWHERE, run_id=make_new_run_id()), datetime.now(UTC)
    instance.add_run(longest)
    for kind, moment in (
        (DagsterEventType.RUN_START, now - timedelta(seconds=request.longest_run_seconds)),
        (DagsterEventType.RUN_SUCCESS, now),
    ):
        instance.run_storage.handle_run_event(longest.run_id, dg.DagsterEvent(kind.value, _ELSEWHERE), moment)
    if request.root_run_id != request.run_id:
        root = {"root_run_id": request.root_run_id, "parent_run_id": request.root_run_id}
        vars(instance)["create_run_for_job"] = partial(instance.create_run_for_job, **root)


def _reported(event: dg.DagsterEvent) -> dg.AssetMaterialization | dg.AssetObservation:
    if event.event_type is DagsterEventType.ASSET_MATERIALIZATION:
        return event.step_materialization_data.materialization
    return event.asset_observation_data.asset_observation


def _end(result: dg.ExecuteInProcessResult, seconds: float) -> StepEnd:
    if result.success:
        return StepEnd(outcome="success", seconds=seconds)
    for event in result.all_events:
        if event.event_type is not DagsterEventType.STEP_FAILURE:
            continue
        failure = event.step_failure_data
        shown = failure.user_failure_data
        if shown is not None:
            return StepEnd(
                outcome="failure",
                seconds=seconds,
                error="Failure",
                message=shown.description or "",
                metadata=serialize_value(shown),
            )
        cause = failure.error
        while cause is not None and cause.cause is not None:
            cause = cause.cause
        if cause is not None:
            text = cause.message.strip()
            return StepEnd(outcome="failure", seconds=seconds, error=cause.cls_name or "", message=text)
    return StepEnd(outcome="failure", seconds=seconds, error="Failure", message="the run failed before its step began")


def _answer(pipes: PipesContext, answer: Answer) -> None:
    pipes.report_custom_message(msgspec.to_builtins(answer))
