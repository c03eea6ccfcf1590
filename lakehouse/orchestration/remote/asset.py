"""An asset whose step is done elsewhere: the same keys, pool and outputs, another driver."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dagster as dg
from dagster._serdes import deserialize_value

from lakehouse.engines.submit.job_folder import JobFolder, folder_of, newest_folder
from lakehouse.engines.submit.remote_jobs import LaunchToken, RemoteJobs
from lakehouse.engines.submit.services import remote_jobs
from lakehouse.orchestration.dagster_names import DagsterNames
from lakehouse.orchestration.remote.request import Answer, StepEvent, StepRequest
from lakehouse.orchestration.remote.watched_job import RemoteStepFailed, WatchedJob
from lakehouse.orchestration.resources import Lake
from lakehouse.orchestration.run_context import execution_of
from lakehouse.settings import Settings

_END = '"kind": "end"'
_SYSTEM_TAGS = "dagster/"
_ROOT_RUN = "dagster/root_run_id"
_DATA_VERSION = "dagster/data_version"
_OWN_VERSION = "dagster/data_version_is_user_provided"


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
        watched = WatchedJob(context, jobs, folder)
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
