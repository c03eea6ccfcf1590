"""Materializes everything through Dagster, in this process, and gathers what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import dagster as dg

from lakehouse.build import PROVE_JOB, build_defs
from lakehouse.cli.context import Context
from lakehouse.cli.dagster_home import PROCESS_TAG, end_dead_runs, prepare_home
from lakehouse.cli.progress import watching
from lakehouse.cli.running import say
from lakehouse.resources import Lake
from lakehouse.resources.standing import standing

MOST_ROUNDS = 1000


@dataclass
class Outcome:
    """What the runs did, all rounds together.

    Attributes:
        added: table → rows.
        step_seconds: table → how long the steps took that wrote it.
        checks: table and check → the newest result.
        failures: step → what went wrong in it.
        runs: ids, in order.
        skipped: whether the newest run left steps out, because what they wait for had nothing new.
    """

    added: dict[str, int] = field(default_factory=dict[str, int])
    step_seconds: dict[str, float] = field(default_factory=dict[str, float])
    checks: dict[tuple[str, str], dg.AssetCheckEvaluation] = field(
        default_factory=dict[tuple[str, str], dg.AssetCheckEvaluation]
    )
    failures: dict[str, str] = field(default_factory=dict[str, str])
    runs: list[str] = field(default_factory=list[str])
    skipped: bool = False
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        """Whether every step succeeded and no check failed; a check that warns was allowed to by declaration."""
        failed = [c for c in self.checks.values() if not c.passed and c.severity is dg.AssetCheckSeverity.ERROR]
        return not self.failures and not failed and bool(self.checks)


def materialize(context: Context, lake: Lake, mark: str) -> Outcome:
    """Run all assets and checks until nothing is unread; a run takes no more than its caps allow.

    Checks that were skipped, because there was nothing new in their tables, are then asked for on their own.
    """
    prepare_home(context.settings)
    defs = dg.Definitions.merge(
        build_defs(context.settings), dg.Definitions(loggers={"console": watching(context.err)})
    )
    outcome, lag = Outcome(), None
    with dg.DagsterInstance.get() as instance:
        if ended := end_dead_runs(instance, context.settings.state, unmarked=False):
            say(context, f"{len(ended)} runs of killed processes were ended")
        for _ in range(MOST_ROUNDS):
            result = _execute(defs.resolve_implicit_global_asset_job_def(), instance, mark)
            _add(outcome, result)
            before, lag = lag, sum(standing(lake, stream).lag for stream in lake.declarations.streams.values())
            if not result.success or lag in (0, before):
                break
            say(context, f"{lag:,} offsets are still unread: another round")
        if outcome.skipped and not outcome.failures:
            if waiting := _never_made(defs, instance, lake):
                # Dagster left them out because their inputs had nothing new; that is no reason never to compute them.
                say(context, f"computed for the first time: {', '.join('.'.join(key.path) for key in waiting)}")
                _add(outcome, _execute(defs.resolve_implicit_global_asset_job_def(), instance, mark, waiting))
            _add(outcome, _execute(defs.resolve_job_def(PROVE_JOB), instance, mark))
    return outcome


def _never_made(defs: dg.Definitions, instance: dg.DagsterInstance, lake: Lake) -> list[dg.AssetKey]:
    """Assets beside the streams' own that have no materialization yet."""
    streams = lake.declarations.streams.values()
    landed = {name for stream in streams for name in (*stream.tables, stream.quarantine_table)}
    return [
        key
        for key in sorted(defs.resolve_asset_graph().materializable_asset_keys)
        if ".".join(key.path) not in landed and instance.get_latest_materialization_event(key) is None
    ]


def _execute(
    job: dg.JobDefinition, instance: dg.DagsterInstance, mark: str, assets: Sequence[dg.AssetKey] | None = None
) -> dg.ExecuteInProcessResult:
    return job.execute_in_process(
        instance=instance,
        raise_on_error=False,
        run_config={"loggers": {"console": {}}},
        tags={PROCESS_TAG: mark},
        asset_selection=assets,
    )


def _add(outcome: Outcome, result: dg.ExecuteInProcessResult) -> None:
    outcome.runs.append(result.run_id)
    outcome.skipped = bool(result.filter_events(lambda event: event.is_step_skipped))
    for event in result.get_asset_materialization_events():
        materialization = event.materialization
        name = ".".join(materialization.asset_key.path)
        outcome.added[name] = outcome.added.get(name, 0) + int(_number(materialization, "rows added"))
        outcome.step_seconds[name] = outcome.step_seconds.get(name, 0) + _number(materialization, "seconds")
    for check in result.get_asset_check_evaluations():
        outcome.checks[".".join(check.asset_key.path), check.check_name] = check
    for event in result.get_step_failure_events():
        error = event.step_failure_data.error
        cause = error and (error.cause or error)
        outcome.failures[event.step_key or "?"] = cause.message.strip() if cause else "unknown"


def _number(materialization: dg.AssetMaterialization, name: str) -> float:
    found = materialization.metadata.get(name)
    return float(str(found.value)) if found is not None else 0.0
