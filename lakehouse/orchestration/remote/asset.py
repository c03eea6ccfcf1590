"""An asset whose step is done elsewhere: the same keys, pool and outputs, another driver."""

import json
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import dagster as dg
import msgspec
from dagster._core.execution.plan.objects import UserFailureData
from dagster._core.pipes.context import PipesMessageHandler, build_external_execution_context_data
from dagster._serdes import deserialize_value

from lakehouse.engines.submit.job_folder import REQUEST_FILE, JobFolder, folder_of, newest_folder
from lakehouse.engines.submit.remote_jobs import JobState, LaunchToken, RemoteJobs
from lakehouse.engines.submit.services import remote_jobs
from lakehouse.errors import LakehouseError
from lakehouse.orchestration.dagster_names import DagsterNames
from lakehouse.orchestration.remote.folder_messages import FolderMessageReader
from lakehouse.orchestration.remote.request import REQUEST, Answer, StepEnd, StepEvent, StepRequest
from lakehouse.orchestration.resources import Lake
from lakehouse.orchestration.run_context import execution_of
from lakehouse.settings import Settings

_LONGEST_SILENCE = 600.0  # seconds without an answer of the service
_LONGEST_END = 120.0  # seconds from a driver's last message to its end: its cost is known then
_END = '"kind": "end"'
_wait = time.sleep
_SYSTEM_TAGS = "dagster/"
_ROOT_RUN = "dagster/root_run_id"
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
        jobs = remote_jobs(settings)
        execution = execution_of(context).id
        _end_abandoned(context, jobs, settings, LaunchToken(step, execution, 0))
        folder = newest_folder(settings, step, execution)
        job = jobs.find(folder.token)
        if job is not None and jobs.state(job).phase == "ended" and not any(_END in line for line in folder.messages()):
            context.log.warning(f"the driver {folder.token}, which an earlier try has launched, was killed")
            folder.settle()
            folder, job = newest_folder(settings, step, execution), None
        folder.watch()
        watched = _Watched(context, jobs, folder)
        answers = watched.answers(job, StepRequest.of(context, settings.timezone))
        yield from _results(context, answers, watched.metadata)
        folder.settle()
        watched.require_success(answers)

    return done_elsewhere


def _end_abandoned(context: dg.AssetExecutionContext, jobs: RemoteJobs, settings: Settings, ours: LaunchToken) -> None:
    """End jobs of the same step that other executions have left: two would do the same work, and one in vain."""
    for token, job in list(jobs.at_work(ours.step)):
        if token.execution == ours.execution or _is_waited_for(context.instance, folder_of(settings, token)):
            continue
        jobs.cancel(job)
        folder_of(settings, token).settle()
        context.log.warning(f"ended the driver {token}, which another run has left behind")


def _is_waited_for(instance: dg.DagsterInstance, folder: JobFolder) -> bool:
    """By a process of this machine that is alive; of another machine Dagster's own record of the run has to do."""
    if (watched := folder.watched) is not None:
        return watched
    execution = folder.token.execution
    filters = dg.RunsFilter(run_ids=[execution]), dg.RunsFilter(tags={_ROOT_RUN: execution})
    return any(not run.is_finished for chosen in filters for run in instance.get_runs(chosen))


class _Watched:
    """A job that is started, or was found, and that is waited for."""

    def __init__(self, context: dg.AssetExecutionContext, jobs: RemoteJobs, folder: JobFolder) -> None:
        self._context = context
        self._jobs = jobs
        self._folder = folder
        self._state = JobState("waiting")
        self.metadata: dict[str, dg.MetadataValue] = {}

    def answers(self, job: str | None, request: StepRequest) -> list[Answer]:
        """Start the job unless it is there, wait for its end, and take what it has reported."""
        reader = FolderMessageReader(self._folder, self._jobs.look_seconds)
        with _pipes(self._context, reader, request, self._folder) as handler:
            try:
                if job is None:
                    self._context.log.info(f"launching the driver {self._folder.token}")
                    job = self._jobs.start(self._folder.token, self._folder.location)
                else:
                    self._context.log.info(f"found the driver {self._folder.token}, which an earlier try has launched")
                self._context.log.info(f"logs of the driver {self._folder.token}: {self._jobs.logs(job)}")
                self._await(job, handler)
            except BaseException:  # a run that is cancelled, above all
                job = job or self._jobs.find(self._folder.token)
                if job is not None:
                    self._jobs.cancel(job)
                    self._context.log.info(f"ended the driver {self._folder.token}")
                self._folder.settle()
                raise
        self._note_cost(job)
        return [msgspec.convert(message, Answer) for message in handler.get_custom_messages()]

    def _await(self, job: str, handler: PipesMessageHandler) -> None:
        """Until it has ended; what it has said is taken at its word also where it takes long to go.

        A service that does not answer for a while ends no job: it goes on without us, and so do its messages.
        """
        closed_at: float | None = None
        silent_at: float | None = None
        while True:
            try:
                self._state = self._jobs.state(job)
                silent_at = None
            except LakehouseError as error:
                if silent_at is None:
                    self._context.log.warning(f"the driver {self._folder.token} is out of sight: {error}")
                silent_at = silent_at or time.monotonic()
                if time.monotonic() - silent_at > _LONGEST_SILENCE:
                    raise
            if self._state.phase == "ended":
                return
            if handler.received_closed_message:
                closed_at = closed_at or time.monotonic()
                if time.monotonic() - closed_at > _LONGEST_END:
                    return
            _wait(self._jobs.look_seconds)

    def _note_cost(self, job: str) -> None:
        """What was published stays so where nobody says what it has cost."""
        amounts: dict[str, float] = {}
        try:
            amounts = self._jobs.cost(job).metadata()
        except LakehouseError as error:
            self._context.log.warning(f"nobody says what the driver {self._folder.token} has used: {error}")
        self.metadata = {name: dg.MetadataValue.float(amount) for name, amount in amounts.items()}
        logs = self._jobs.logs(job)
        self.metadata["driver's logs"] = (
            dg.MetadataValue.url(logs) if logs.startswith("https://") else dg.MetadataValue.text(logs)
        )
        if amounts:
            used = ", ".join(f"{amount:g} {name}" for name, amount in amounts.items())
            self._context.log.info(f"the driver {self._folder.token} has used {used}")

    def require_success(self, answers: Sequence[Answer]) -> None:
        """Fail as the step has failed.

        Raises:
            RemoteStepLost: the driver has not said how its step did.
            RemoteStepFailed: its step has failed.
        """
        ends = [answer for answer in answers if isinstance(answer, StepEnd)]
        token, logs = self._folder.token, self.metadata["driver's logs"].value
        if not ends:
            raise RemoteStepLost(
                f"The driver {token} ended and did not say how its step did: {self._state.reason}",
                remedy=f"see {logs}; run the step again, it begins where the tables are.",
            )
        end = ends[-1]
        self._context.log.info(f"the driver {token} took {end.seconds:.0f} s")
        if end.outcome == "success":
            return
        if end.metadata:
            shown = deserialize_value(end.metadata, UserFailureData)
            raise dg.Failure(description=end.message, metadata=shown.metadata, allow_retries=False)
        raise RemoteStepFailed(f"{end.error}: {end.message}", remedy=f"the driver's log is {logs}.")


@contextmanager
def _pipes(
    context: dg.AssetExecutionContext, reader: dg.PipesMessageReader, request: StepRequest, folder: JobFolder
) -> Generator[PipesMessageHandler]:
    """What `open_pipes_session` does, but that ours may yield fewer outputs than there are: they are skippable."""
    op = context.op_execution_context  # Pipes reads of it what is deprecated in an asset's
    if folder.read(REQUEST_FILE) is None:
        data = build_external_execution_context_data(op, {REQUEST: msgspec.to_builtins(request)})
        folder.write(REQUEST_FILE, json.dumps(data).encode())
    handler = PipesMessageHandler(op, reader)
    with handler.handle_messages():
        yield handler


def _results(
    context: dg.AssetExecutionContext, answers: Sequence[Answer], metadata: Mapping[str, dg.MetadataValue]
) -> Iterator[dg.MaterializeResult[Any]]:
    reported = set[dg.AssetKey]()
    for answer in answers:
        if not isinstance(answer, StepEvent):
            continue
        match deserialize_value(answer.event):
            case dg.AssetMaterialization() as made:
                if made.partition and not _partitioned(context):
                    context.log_event(made)  # of a run of the whole table, beside its own
                    continue
                if made.asset_key not in context.selected_asset_keys:  # of a table that records have named
                    context.log_event(made)
                    continue
                if made.asset_key in reported:  # one for each partition of the run, which Dagster makes of ours, too
                    continue
                reported.add(made.asset_key)
                yield _result(made, metadata)
            case dg.AssetObservation() as observed:
                context.log_event(observed)
            case other:
                raise RemoteStepFailed(
                    f"A step reported a {type(other).__name__}.", remedy="have the same version of lakehouse there."
                )


def _partitioned(context: dg.AssetExecutionContext) -> bool:
    return context.has_partition_key or context.has_partition_key_range


def _result(made: dg.AssetMaterialization, metadata: Mapping[str, dg.MetadataValue]) -> dg.MaterializeResult[Any]:
    tags = made.tags or {}
    own = _DATA_VERSION in tags and tags.get(_OWN_VERSION) == "true"
    return dg.MaterializeResult(
        asset_key=made.asset_key,
        metadata={**made.metadata, **metadata},
        tags={key: value for key, value in tags.items() if not key.startswith(_SYSTEM_TAGS)},
        data_version=dg.DataVersion(tags[_DATA_VERSION]) if own else None,
    )
