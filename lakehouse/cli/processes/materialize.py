"""Materializes everything through Dagster, in this process."""

import getpass
import os
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta

import dagster as dg

from lakehouse.build import PROVE_JOB, build_defs
from lakehouse.cli.context import Context
from lakehouse.cli.processes.code_digest import code_digest
from lakehouse.cli.processes.dagster_home import end_dead_runs, prepare_home
from lakehouse.cli.processes.derive import Run, derive_news, later_assets, release_rest
from lakehouse.cli.processes.instance_settings import name_missing_settings
from lakehouse.cli.processes.kept_verdicts import JUDGED_BY_TAG, kept_verdicts
from lakehouse.cli.processes.run_context import say
from lakehouse.cli.reports.failed_assets import held_up, unread
from lakehouse.cli.reports.outcome import RunOutcome
from lakehouse.cli.reports.progress import tells_of_interrupt, watching
from lakehouse.declarations import MirrorTables
from lakehouse.orchestration.assets import mirror_keys, mirror_step
from lakehouse.orchestration.assets.replay import GROUP as REPLAY_GROUP
from lakehouse.orchestration.automation import complete_log, drop_old_runs, mirror_due, tell_dagster
from lakehouse.orchestration.checks import LOADS
from lakehouse.orchestration.dagster_names import DagsterNames
from lakehouse.orchestration.resources import Lake
from lakehouse.orchestration.resources.maintenance_metadata import (
    GROUP,
    is_maintenance,
    maintained_with,
    maintenance_key,
)
from lakehouse.orchestration.run_context import MAINTENANCE_TAG, MIRROR_TAG, PROCESS_TAG, REBUILD_TAG, USER_TAG
from lakehouse.protocol.errors import CommitError
from lakehouse.quantities import quantity
from lakehouse.settings import Settings

MOST_ROUNDS = 1000


def materialize(context: Context, lake: Lake, mark: str) -> RunOutcome:
    """Run all assets and checks until nothing is unread; a run takes no more than its caps allow.

    Mirrors that are behind their changelogs after that are brought up to date: their steps wait for new messages, and
    a run that was killed between changelog and mirror has left none. Then derived tables are computed, and released.
    Checks that were not run, because there was nothing new in their tables, are asked for on their own, but for those
    of which the last word stands. A step that failed holds up what is computed from its assets, and nothing else.
    """
    digest = code_digest(lake.settings)
    outcome, tags = RunOutcome(names=lake.names), {PROCESS_TAG: mark, JUDGED_BY_TAG: digest}
    with _dagster(context) as (defs, instance):
        if reported := tell_dagster(lake, instance, defs.resolve_asset_graph().materializable_asset_keys):
            say(context, f"told Dagster of {quantity(reported, 'materialization')} of killed runs")
        everything = defs.resolve_implicit_global_asset_job_def()

        def run(keys: Sequence[dg.AssetKey]) -> None:
            outcome.add(_execute(everything, instance, tags, keys))

        _read_all(context, lake, defs, outcome, run)
        mirrors = {mirror_step(tables) for tables in lake.declarations.mirrors.values()}
        stopped = held_up(defs, outcome.failures.keys() - mirrors)
        derive_news(lake, defs, run, lambda text: say(context, text), stopped)
        stopped = held_up(defs, outcome.failures.keys())
        waiting = (
            [key for key in _never_materialized(defs, instance, lake) if key not in stopped] if outcome.skipped else []
        )
        if waiting:
            # Dagster left them out because their inputs had nothing new; that is no reason never to compute them.
            say(context, f"computed for the first time: {', '.join(lake.names.table(key) for key in waiting)}")
            run(waiting)
        unasked = {check for check in _unasked(defs, outcome, lake.names) if check.asset_key not in stopped}
        if kept := kept_verdicts(lake, instance, unasked, digest):
            say(context, f"{quantity(len(kept), 'verdict')} on the same snapshots, whose files are all there, stand")
            outcome.keep(kept.values())
            unasked -= kept.keys()
        if unasked:
            prove = defs.resolve_job_def(PROVE_JOB).get_subset(asset_check_selection=unasked)
            outcome.add(_execute(prove, instance, tags))
        release_rest(lake, outcome.steps, run)
        _log(context, lake, instance)
    return outcome


def rebuild(context: Context, mark: str, tables: MirrorTables) -> RunOutcome:
    """Run a mirror's assets and checks alone, with the tag that makes it fold its whole changelog anew."""
    lake = Lake(context.settings)
    outcome = RunOutcome(names=lake.names)
    tags = {PROCESS_TAG: mark, MIRROR_TAG: tables.mirror.name, REBUILD_TAG: "true"}
    with _dagster(context) as (defs, instance):
        outcome.add(
            _execute(defs.resolve_implicit_global_asset_job_def(), instance, tags, mirror_keys(tables, lake.names))
        )
        _log(context, lake, instance)
    return outcome


def derive(
    context: Context, mark: str, tables: Sequence[str], tags: Mapping[str, str], *, downstream: bool
) -> RunOutcome:
    """Run derived tables with their checks, and what is computed from them if that is asked for, in one run."""
    lake = Lake(context.settings)
    outcome = RunOutcome(names=lake.names)
    with _dagster(context) as (defs, instance):
        chosen = dg.AssetSelection.assets(*(lake.names.key(name) for name in tables))
        wanted = (chosen.downstream() if downstream else chosen).resolve(defs.resolve_asset_graph())
        job = defs.resolve_implicit_global_asset_job_def()
        outcome.add(_execute(job, instance, {PROCESS_TAG: mark, **tags}, sorted(wanted)))
        _log(context, lake, instance)
    return outcome


def maintain(context: Context, mark: str, tables: Mapping[str, Mapping[str, str]]) -> RunOutcome:
    """Run the maintenance of tables with its checks, one run for each, so that none waits for the pool of another.

    Args:
        context: of the command.
        mark: by which this process is known to live.
        tables: table → tags of its run.
    """
    lake = Lake(context.settings)
    outcome = RunOutcome(names=lake.names)
    with _dagster(context) as (defs, instance):
        job = defs.resolve_implicit_global_asset_job_def()
        for name, tags in tables.items():
            run_tags = {PROCESS_TAG: mark, MAINTENANCE_TAG: name, **tags}
            asset = maintenance_key(maintained_with(name, lake.declarations), lake.names)
            outcome.add(_execute(job, instance, run_tags, [asset]))
        _log(context, lake, instance)
    return outcome


@contextmanager
def _dagster(context: Context) -> Generator[tuple[dg.Definitions, dg.DagsterInstance]]:
    """The definitions, telling their progress, and the instance, without runs of processes that are gone."""
    home = prepare_home(context.settings)
    progress = dg.Definitions(loggers={"console": watching(context.err)})
    with dg.DagsterInstance.get() as instance:
        if not home.own:
            name_missing_settings(context, instance, home.path)
        if ended := end_dead_runs(instance, context.settings.state, unmarked=False):
            say(context, f"ended {quantity(len(ended), 'run')} of killed processes")
        yield dg.Definitions.merge(build_defs(_with_maintenance(context.settings)), progress), instance


def _with_maintenance(settings: Settings) -> Settings:
    """The same, with the assets of maintenance: a person who asks for it gets it, also where Dagster hides them."""
    dagster = settings.dagster.model_copy(update={"maintenance_assets": True})
    return settings.model_copy(update={"dagster": dagster})


def _log(context: Context, lake: Lake, instance: dg.DagsterInstance) -> None:
    """Complete the audit log, as a sensor does where Dagster's services run; a log that is busy fails no run."""
    try:
        while complete_log(lake, instance, writer="lakehouse run").more:
            continue
        drop_old_runs(lake, instance)
    except CommitError as trouble:
        say(context, f"the audit log is not complete yet, the next run goes on: {trouble}")


def _read_all(context: Context, lake: Lake, defs: dg.Definitions, outcome: RunOutcome, run: Run) -> None:
    """Run everything but derived tables, again while streams have more to read; then mirrors that are still behind."""
    graph, lag, started = defs.resolve_asset_graph(), None, set[str]()
    later = later_assets(lake.declarations, lake.names)
    upkeep = dg.AssetSelection.groups(GROUP)  # which has its own sensor, and its own command
    days = dg.AssetSelection.groups(REPLAY_GROUP)  # which a person chooses
    keys = first = sorted((dg.AssetSelection.all() - later - upkeep - days).resolve(graph))
    mirrors = {name: mirror_step(tables) for name, tables in lake.declarations.mirrors.items()}
    for _ in range(MOST_ROUNDS):
        if keys:
            run(keys)
        before, lag = lag, unread(lake, outcome)
        # A mirror that refuses keeps nobody from reading on, nor does a stream that failed keep another.
        stopped = held_up(defs, outcome.failures.keys() - set(mirrors.values()))
        keys = [key for key in first if key not in stopped] if lag not in (0, before) else []
        if keys:
            say(context, f"{quantity(lag, 'offset')} still unread: another round")
        elif behind := _behind(lake, [name for name, step in mirrors.items() if step not in outcome.failures], started):
            reasons = "; ".join(f"{name}: {reason}" for name, reason in behind.items())
            say(context, f"not yet in their mirrors: {reasons}")
            theirs = [key for name in behind for key in mirror_keys(lake.declarations.mirrors[name], lake.names)]
            keys = sorted((dg.AssetSelection.assets(*theirs).downstream() - later).resolve(graph))
        else:
            return


def _behind(lake: Lake, mirrors: Iterable[str], started: set[str]) -> dict[str, str]:
    """Mirror → why a run is due, in its sensor's words; a run key is started once, as Dagster does for a sensor."""
    waiting: dict[str, str] = {}
    for name in sorted(mirrors):
        due = mirror_due(lake.declarations.mirrors[name], lake, target_lag=timedelta(0))
        if due.run_key is not None and due.run_key not in started:
            started.add(due.run_key)
            waiting[name] = due.reason
    return waiting


def _never_materialized(defs: dg.Definitions, instance: dg.DagsterInstance, lake: Lake) -> list[dg.AssetKey]:
    """Assets beside those of streams and mirrors that have no materialization yet."""
    return [
        key
        for key in sorted(defs.resolve_asset_graph().materializable_asset_keys)
        if not is_maintenance(key, lake.names)
        and lake.declarations.writer(lake.names.table(key)) is None
        and instance.get_latest_materialization_event(key) is None
    ]


def _unasked(defs: dg.Definitions, outcome: RunOutcome, names: DagsterNames) -> set[dg.AssetCheckKey]:
    """Checks that no run has answered; those of maintenance are answered by its own runs.

    That a declaration does not load is told by the command itself.
    """
    keys = defs.resolve_asset_graph().asset_check_keys - outcome.asked
    return {key for key in keys if not is_maintenance(key.asset_key, names) and key.name != LOADS}


def _execute(
    job: dg.JobDefinition,
    instance: dg.DagsterInstance,
    tags: Mapping[str, str],
    assets: Sequence[dg.AssetKey] | None = None,
) -> dg.ExecuteInProcessResult:
    """Run assets, or a job as it is.

    Raises:
        KeyboardInterrupt: a signal ended the run. Dagster makes a failed run of that, and nothing is to run after it.
    """
    result = job.execute_in_process(
        instance=instance,
        raise_on_error=False,
        run_config={"loggers": {"console": {}}},
        tags={USER_TAG: _user(), **tags},
        asset_selection=assets,
    )
    if result.filter_events(tells_of_interrupt):
        raise KeyboardInterrupt
    return result


def _user() -> str:
    """Who runs this command, for the audit log."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run under a number that has no name
        return str(os.getuid())
