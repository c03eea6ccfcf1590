"""What a person sees of Dagster's log while a command runs."""

import io
import os
import signal
import threading

import dagster as dg
from rich.console import Console

from lakehouse.cli.processes.run_context import ended_by_signals
from lakehouse.cli.reports.progress import tells_of_interrupt, watching


def _watched(asset: dg.AssetsDefinition) -> tuple[dg.ExecuteInProcessResult, str]:
    shown = io.StringIO()
    defs = dg.Definitions(assets=[asset], loggers={"console": watching(Console(file=shown))})
    with dg.DagsterInstance.ephemeral() as instance:
        result = defs.resolve_implicit_global_asset_job_def().execute_in_process(
            instance=instance, raise_on_error=False, run_config={"loggers": {"console": {}}}
        )
    return result, shown.getvalue()


def test_a_failure_is_shown_after_what_the_step_said() -> None:
    @dg.asset
    def broken(context: dg.AssetExecutionContext) -> None:
        context.log.info("begun")
        raise ValueError("no such column")

    result, shown = _watched(broken)

    assert shown.index("begun") < shown.index('"broken" failed')
    assert not result.filter_events(tells_of_interrupt)


def test_an_interrupt_is_no_failure() -> None:
    @dg.asset
    def interrupted(context: dg.AssetExecutionContext) -> None:
        context.log.info("begun")
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(60)

    with ended_by_signals():
        result, shown = _watched(interrupted)

    assert len(result.filter_events(tells_of_interrupt)) == 2  # of the step, and of the run
    assert "begun" in shown
    assert "fail" not in shown
