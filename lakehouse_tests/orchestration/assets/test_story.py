"""The story that this was built for: tables are joined, one of them was computed again otherwise, and it is noticed."""

import json
import re
import shlex

import dagster as dg
import pytest
from typer.testing import CliRunner

from lakehouse.cli.main import app
from lakehouse.orchestration.run_context import PARAMETERS_TAG, RUNTIME_DATE_TAG
from lakehouse_tests.orchestration.assets.house import House, checks
from lakehouse_tests.orchestration.assets.story import story

__all__ = ["story"]
pytestmark = pytest.mark.spark

MONDAY = {RUNTIME_DATE_TAG: "2026-01-05"}
OTHERWISE = {
    "another date": {RUNTIME_DATE_TAG: "2026-01-06"},
    "other parameters": {**MONDAY, PARAMETERS_TAG: json.dumps({"least_amount": 50})},
}
NAMED = {
    "another date": "mart.shop_sizes: its runtime date is 2026-01-06",
    "other parameters": "mart.shop_sizes: its parameters are others",
}


def failure(result: dg.ExecuteInProcessResult) -> str:
    """What the one step that failed says."""
    [event] = result.get_step_failure_events()
    failure_data = event.step_failure_data.user_failure_data
    assert failure_data is not None
    return str(failure_data.description)


def seen(house: House) -> dict[str, list[dict[str, object]]]:
    """What a reader of the release sees."""
    released = house.lake().release("reports")
    return {name: sorted(released.arrow(name).to_pylist(), key=str) for name in released.tables}


def dateless(rows: dict[str, list[dict[str, object]]]) -> dict[str, list[dict[str, object]]]:
    """The same without the column of the runtime date."""
    return {
        name: [{column: value for column, value in row.items() if column != "runtime_date"} for row in table_rows]
        for name, table_rows in rows.items()
    }


@pytest.mark.soak
@pytest.mark.parametrize("how", OTHERWISE)
def test_a_table_that_was_computed_otherwise_is_noticed_named_and_repaired(story: House, how: str) -> None:
    first = story.run(tags=MONDAY)
    assert first.success
    assert all(check.passed or check.severity is dg.AssetCheckSeverity.WARN for check in checks(first).values())
    released, rows = story.lake().release("reports").id, seen(story)

    # Somebody computes one table of the middle again; nothing is wrong with that table alone.
    assert story.run("mart.shop_sizes", tags=OTHERWISE[how]).success

    refused = story.run("mart.best_days", "release.reports", tags=MONDAY)
    assert not refused.success
    message = failure(refused)
    assert NAMED[how] in message
    assert "mart.shop_days: runtime date 2026-01-05" in message, "every input is listed, also those that are right"
    result = story.run("release.reports", tags=MONDAY)
    assert "mart.shop_sizes" in failure(result)
    assert (story.lake().release("reports").id, seen(story)) == (released, rows), "readers see what they saw"

    # The repair is the command that the message names, as it stands there.
    command = re.search(r"`lakehouse (derive [^`]+)`", message)
    assert command is not None
    repaired = CliRunner().invoke(app, shlex.split(command[1]))
    assert repaired.exit_code == 0, repaired.output
    assert story.run("release.reports", tags=MONDAY).success
    assert story.lake().release("reports").id > released
    now, newest = seen(story), max(MONDAY[RUNTIME_DATE_TAG], OTHERWISE[how][RUNTIME_DATE_TAG])
    dates = {str(row["runtime_date"]) for table_rows in now.values() for row in table_rows if "runtime_date" in row}
    assert dates == {newest}, "nothing newer is replaced by an older date"
    assert dateless(now) == dateless(rows), "computed again from the same with the same parameters, so the same"


@pytest.mark.slow
def test_lakehouse_run_computes_what_has_news_and_releases_it(story: House) -> None:
    done = CliRunner().invoke(app, ["run"])
    assert done.exit_code == 0, done.output
    released = story.lake().release("reports").id
    assert "All 3 derived tables are of runtime date" in done.output
    assert f"Readers of reports see release {released}" in done.output

    again = CliRunner().invoke(app, ["run"])
    assert again.exit_code == 0, again.output
    assert story.lake().release("reports").id == released, "nothing is computed again, and nothing released"

    # Of today, like what was computed: an older date is refused.
    other = {PARAMETERS_TAG: json.dumps({"least_amount": 50})}
    assert story.run("mart.shop_sizes", tags=other).success
    mended = CliRunner().invoke(app, ["run"])
    assert mended.exit_code == 0, mended.output
    assert story.lake().release("reports").id > released
