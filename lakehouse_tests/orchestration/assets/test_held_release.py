"""Each remedy that a held release names is carried out as it stands there, and then the release goes ahead."""

import re
import shlex
from datetime import date

import dagster as dg
import pytest
from typer.testing import CliRunner

from lakehouse.cli import app
from lakehouse.orchestration.run_context import RUNTIME_DATE_TAG
from lakehouse_tests.orchestration.assets.house import House
from lakehouse_tests.orchestration.assets.story import fill, story

__all__ = ["story"]
pytestmark = [pytest.mark.spark, pytest.mark.slow]

MONDAY = {RUNTIME_DATE_TAG: "2026-01-05"}


def reason(house: House) -> str:
    """Why the release is held."""
    [event] = house.run("release.reports", tags=MONDAY).get_step_failure_events()
    failure = event.step_failure_data.user_failure_data
    assert failure is not None
    assert failure.description is not None
    assert failure.description.startswith("Release reports is held")
    return failure.description


def carry_out(message: str, *, choice: int = 0) -> str:
    """Call a command that a message names, as it stands there."""
    command = re.findall(r"`lakehouse ([^`]+)`", message)[choice]
    done = CliRunner().invoke(app, shlex.split(command))
    assert done.exit_code == 0, done.output
    return command


def require_released(house: House) -> str:
    assert house.run("release.reports", tags=MONDAY).success
    return house.lake().release("reports").id


def of_the_release(house: House) -> dict[str, str]:
    """The runtime date that its members have."""
    return {RUNTIME_DATE_TAG: house.lake().release("reports").members[0].runtime_date}


def run_unjudged(house: House, *names: str) -> None:
    """Materialize tables without their checks."""
    defs = house.defs()
    keys = [dg.AssetKey(name.split(".")) for name in names]
    job = dg.define_asset_job("unjudged", dg.AssetSelection.assets(*keys).without_checks())
    merged = dg.Definitions.merge(defs, dg.Definitions(jobs=[job]))
    done = merged.resolve_job_def("unjudged").execute_in_process(instance=house.instance, tags=of_the_release(house))
    assert done.success


def append_from_outside(house: House) -> None:
    """Append a table's own rows again, with PyIceberg, as anybody could."""
    table = house.lake().catalog.load_table(("mart", "shop_sizes"))
    table.append(table.scan().to_arrow())


@pytest.mark.soak
def test_a_member_that_holds_nothing(story: House) -> None:
    assert story.run("mart.shop_days", tags=MONDAY).success
    message = reason(story)
    assert "mart.shop_sizes: it holds nothing yet" in message
    carry_out(message)
    require_released(story)


@pytest.mark.parametrize("verbs", [["rollback"], pytest.param(["rollback", "derive"], marks=pytest.mark.soak)])
def test_what_came_from_outside(story: House, verbs: list[str]) -> None:
    assert story.run(tags=MONDAY).success
    rows = story.lake().release("reports").arrow("mart.shop_sizes").num_rows
    for choice, verb in enumerate(verbs):
        append_from_outside(story)
        message = reason(story)
        assert "mart.shop_sizes: nobody sealed snapshot" in message
        assert carry_out(message, choice=choice).startswith(verb)
        require_released(story)
        assert story.lake().release("reports").arrow("mart.shop_sizes").num_rows == rows


@pytest.mark.soak
def test_what_nobody_judged_and_what_read_older_rows(story: House) -> None:
    assert story.run(tags=MONDAY).success
    run_unjudged(story, "mart.shop_sizes", "mart.best_days")
    message = reason(story)
    assert "mart.shop_sizes: check" in message
    carry_out(message)
    first = require_released(story)

    fill(story, "raw.orders", [{"number": 7, "shop": "Bonn", "day": date(2026, 1, 2), "amount": 50}])
    assert story.run("mart.shop_sizes", tags=of_the_release(story)).success
    message = reason(story)
    assert "raw.orders was read in 2 versions" in message
    carry_out(message)
    assert require_released(story) > first
