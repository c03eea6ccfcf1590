"""An asset whose step is done elsewhere: the same keys, pool and outputs, another driver."""

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import msgspec
from dagster._core.execution.plan.objects import UserFailureData
from dagster._core.pipes.context import PipesMessageHandler, PipesSession, build_external_execution_context_data
from dagster._serdes import deserialize_value

import lakehouse
from lakehouse.engines.spark.driver import last_words
from lakehouse.engines.submit import DriverJob, driver_job, end_abandoned, submitted
from lakehouse.errors import LakehouseError
from lakehouse.orchestration.dagster_names import DagsterNames
from lakehouse.orchestration.remote.folder_messages import FolderMessageReader
from lakehouse.orchestration.remote.request import Answer, StepEnd, StepEvent, StepRequest
from lakehouse.orchestration.resources import Lake
from lakehouse.orchestration.run_context import execution_of
from lakehouse.settings import Settings

PROGRAM = Path(lakehouse.__file__).parent / "remote_step" / "__main__.py"
REQUEST = "lakehouse/step"
_LOOK_SECONDS = 0.2
_END = '"kind": "end"'
_wait = time.sleep
_SYSTEM_TAGS = "dagster/"
_DATA_VERSION = "dagster/data_version"
_OWN_VERSION = "dagster/data_version_is_user_provided"


class RemoteStepFailed(LakehouseError):
    """A step that was done elsewhere has failed there."""


class RemoteStepLost(LakehouseError):
    """A driver ended without saying how its step did: it was killed, or could not begin."""


def remote_asset(asset: dg.AssetsDefinition, names: DagsterNames) -> dg.AssetsDefinition:
    """The same asset, whose step launches a driver, or finds the one that an earlier try of its run has launched.

    Args:
        asset: as it is where its step is done in Dagster's process.
        names: of our resources.
    """
    step = asset.op.name

    @dg.multi_asset(
        name=step,
        specs=list(asset.specs),
        check_specs=list(asset.check_specs),
        partitions_def=asset.partitions_def,
        backfill_policy=asset.backfill_policy,
        pool=asset.op.pool,
        description=asset.op.description,
    )
    @names.resources
    def done_elsewhere(
        context: dg.AssetExecutionContext, lake: dg.ResourceParam[Lake]
    ) -> Iterator[dg.MaterializeResult[Any]]:
        settings = lake.settings
        execution = execution_of(context).id
        for token in end_abandoned(settings.state, step, execution, patience=settings.platform.stop_timeout_seconds):
            context.log.warning(f"ended the driver {token}, which another run has left behind")
        job = driver_job(settings.state, step, execution)
        if job.launched and not job.running() and _END not in job.messages.read_text(encoding="utf-8"):
            context.log.warning(f"the driver {job.token}, which an earlier try has launched, was killed")
            job.settle()
            job = driver_job(settings.state, step, execution)
        job.watch()
        answers = _answers(context, job, settings)
        yield from _results(context, answers)
        job.settle()
        _require_success(context, job, answers)

    return done_elsewhere


def _answers(context: dg.AssetExecutionContext, job: DriverJob, settings: Settings) -> list[Answer]:
    """Launch the driver unless it is there, wait for its end, and take what it has reported."""
    request = StepRequest.of(context, settings.timezone)
    with _pipes(context, FolderMessageReader(job.messages), request, job) as (session, handler):
        try:
            if job.launched:
                context.log.info(f"found the driver {job.token}, which an earlier try has launched")
            else:
                context.log.info(f"launching the driver {job.token}; it prints to {job.log}")
                with submitted(job, settings, PROGRAM, session.get_bootstrap_env_vars()):
                    while job.running() and not handler.received_opened_message:
                        _wait(_LOOK_SECONDS)
            while job.running() and not handler.received_closed_message:
                _wait(_LOOK_SECONDS)
        except BaseException:  # a run that is cancelled, above all
            if job.end(patience=settings.platform.stop_timeout_seconds):
                context.log.info(f"ended the driver {job.token}")
            job.settle()
            raise
    return [msgspec.convert(message, Answer) for message in handler.get_custom_messages()]


@contextmanager
def _pipes(
    context: dg.AssetExecutionContext, reader: dg.PipesMessageReader, request: StepRequest, job: DriverJob
) -> Generator[tuple[PipesSession, PipesMessageHandler]]:
    """What `open_pipes_session` does, but that ours may yield fewer outputs than there are: they are skippable."""
    job.messages.touch()
    op = context.op_execution_context  # Pipes reads of it what is deprecated in an asset's
    data = build_external_execution_context_data(op, {REQUEST: msgspec.to_builtins(request)})
    handler = PipesMessageHandler(op, reader)
    with dg.PipesEnvContextInjector().inject_context(data) as injected, handler.handle_messages() as written:
        yield PipesSession(data, handler, injected, written, op), handler


def _results(context: dg.AssetExecutionContext, answers: Sequence[Answer]) -> Iterator[dg.MaterializeResult[Any]]:
    reported = set[dg.AssetKey]()
    for answer in answers:
        if not isinstance(answer, StepEvent):
            continue
        match deserialize_value(answer.event):
            case dg.AssetMaterialization() as made:
                if made.partition and not _partitioned(context):
                    context.log_event(made)  # of a run of the whole table, beside its own
                    continue
                if made.asset_key in reported:  # one for each partition of the run, which Dagster makes of ours, too
                    continue
                reported.add(made.asset_key)
                yield _result(made)
            case dg.AssetObservation() as observed:
                context.log_event(observed)
            case other:
                raise RemoteStepFailed(
                    f"A step reported a {type(other).__name__}.", remedy="have the same version of lakehouse there."
                )


def _partitioned(context: dg.AssetExecutionContext) -> bool:
    return context.has_partition_key or context.has_partition_key_range


def _result(made: dg.AssetMaterialization) -> dg.MaterializeResult[Any]:
    tags = made.tags or {}
    own = _DATA_VERSION in tags and tags.get(_OWN_VERSION) == "true"
    return dg.MaterializeResult(
        asset_key=made.asset_key,
        metadata=made.metadata,
        tags={key: value for key, value in tags.items() if not key.startswith(_SYSTEM_TAGS)},
        data_version=dg.DataVersion(tags[_DATA_VERSION]) if own else None,
    )


def _require_success(context: dg.AssetExecutionContext, job: DriverJob, answers: Sequence[Answer]) -> None:
    ends = [answer for answer in answers if isinstance(answer, StepEnd)]
    if not ends:
        raise RemoteStepLost(
            f"The driver {job.token} ended and did not say how its step did: {last_words(job.log)}",
            remedy=f"see {job.log}; run the step again, it begins where the tables are.",
        )
    end = ends[-1]
    context.log.info(f"the driver {job.token} took {end.seconds:.0f} s")
    if end.outcome == "success":
        return
    if end.metadata:
        shown = deserialize_value(end.metadata, UserFailureData)
        raise dg.Failure(description=end.message, metadata=shown.metadata, allow_retries=False)
    raise RemoteStepFailed(f"{end.error}: {end.message}", remedy=f"the driver's log is {job.log}.")
