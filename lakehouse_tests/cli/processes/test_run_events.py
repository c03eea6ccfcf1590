"""What `lakehouse dev` prints of runs that sensors start."""

import io
from typing import Any

import dagster as dg
from rich.console import Console

from lakehouse.cli.context import Context
from lakehouse.cli.processes.run_events import Followed
from lakehouse.cli.reports.outcome import RunOutcome
from lakehouse.orchestration.run_context import MIRROR_TAG
from lakehouse.protocol.errors import ForeignCommit


def report_of(metadata: dict[str, Any]) -> str:
    """What is printed of a run of a mirror whose materialization has this metadata."""

    @dg.asset(key=["mirror", "nests"])
    def nests() -> dg.MaterializeResult[Any]:
        return dg.MaterializeResult(metadata=metadata)

    printed = io.StringIO()
    with dg.DagsterInstance.ephemeral() as instance:
        followed = Followed(Context(err=Console(file=printed, width=200)), instance)
        dg.materialize([nests], instance=instance, tags={MIRROR_TAG: "mirror.nests"})
        followed.tell()
    return printed.getvalue()


def test_rows_of_a_mirror_that_came_changed_and_went_are_told() -> None:
    line = report_of({"rows inserted": 1234, "rows updated": 2, "rows deleted": 1})
    assert line.endswith("of mirror.nests succeeded: +1,234 ~2 -1 mirror.nests\n")


def test_a_mirror_to_which_nothing_happened_is_nothing_new() -> None:
    assert report_of({"rows inserted": 0, "rows updated": 0, "rows deleted": 0}).endswith("succeeded: nothing new\n")
    assert report_of({"rows added": 7}).endswith("succeeded: +7 mirror.nests\n")
    assert report_of({"rows written": 7}).endswith("succeeded: =7 mirror.nests\n")


def test_what_maintenance_has_done_is_told_in_its_own_words() -> None:
    assert report_of({"in short": "rewrite done, expire done"}).endswith(
        "succeeded: rewrite done, expire done mirror.nests\n"
    )


def test_a_run_over_many_partitions_is_told_once() -> None:
    @dg.asset
    def parts(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Any]:
        for partition in ("a", "b", "c"):
            context.log_event(dg.AssetMaterialization("parts", partition=partition, metadata={"rows added": 36}))
        return dg.MaterializeResult(metadata={"rows added": 36})

    printed = io.StringIO()
    with dg.DagsterInstance.ephemeral() as instance:
        followed = Followed(Context(err=Console(file=printed, width=200)), instance)
        dg.materialize([parts], instance=instance)
        followed.tell()
    assert printed.getvalue().endswith(": +36 parts\n")


def test_a_release_that_was_made_is_told_by_its_id() -> None:
    line = report_of({"release": "analytics-20261121-1", "outcome": "released", "seconds": 1.0})
    assert line.endswith("succeeded: released analytics-20261121-1\n")


def failed(error: Exception) -> tuple[str, str]:
    """What the following output and a command's own say of a step that ended with an error."""

    @dg.asset
    def nests() -> None:
        raise error

    printed, outcome = io.StringIO(), RunOutcome()
    with dg.DagsterInstance.ephemeral() as instance:
        followed = Followed(Context(err=Console(file=printed, width=200)), instance)
        job = dg.Definitions([nests]).resolve_implicit_global_asset_job_def()
        outcome.add(job.execute_in_process(instance=instance, raise_on_error=False))
        followed.tell()
    return printed.getvalue().partition("FAILED\n  ")[2], outcome.failures["nests"]


def test_a_refusal_and_an_error_of_ours_are_told_in_their_words_alone() -> None:
    refused = "The inputs do not agree.\nRemedy: repair."
    assert failed(dg.Failure(refused)) == (refused + "\n", refused)
    assert failed(ForeignCommit("A stranger: wrote.", remedy="ask."))[1] == "A stranger: wrote. Remedy: ask."
    assert failed(ZeroDivisionError("bug"))[1] == "ZeroDivisionError: bug"
