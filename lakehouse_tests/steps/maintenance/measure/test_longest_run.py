"""How long the longest run took, by the clocks of those who ran; and how much of that is believed."""

import re
import time
from datetime import UTC, datetime, timedelta

import pytest

from lakehouse.protocol.commit import publish
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.maintenance.measure.longest_run import LONGEST_BELIEVED, longest_run
from lakehouse_tests.fixtures.lakes import Lake

IN_2020 = 1_577_836_800 * 10**9


def test_a_run_that_began_with_a_clock_of_years_ago_counts_for_a_month(
    sql_lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = sql_lake.create("a")
    with monkeypatch.context() as early:
        early.setattr(time, "time_ns", lambda: IN_2020)
        attempt = Attempt("run", "step")
    publish(sql_lake.catalog, [sql_lake.stage(sql_lake.bases(name)[name], attempt, [1])])
    longest = longest_run(sql_lake.load(name), datetime.now(UTC))
    assert longest.wait == LONGEST_BELIEVED
    assert re.fullmatch(
        r"a run seems to have taken [23],\d{3} days and counts for 30, since a clock was probably wrong", longest.doubt
    )


@pytest.mark.parametrize("days", [0, 2, 30])
def test_what_a_run_may_take_is_believed(sql_lake: Lake, days: int) -> None:
    table = sql_lake.load(sql_lake.create("a"))
    longest = longest_run(table, datetime.now(UTC), noted=timedelta(days=days))
    assert (longest.wait, longest.doubt) == (timedelta(days=days), "")


def test_a_run_under_way_is_waited_for_however_long(sql_lake: Lake) -> None:
    table = sql_lake.load(sql_lake.create("a"))
    longest = longest_run(table, datetime.now(UTC), dagster=timedelta(days=43))
    assert (longest.wait, longest.doubt) == (timedelta(days=43), "")
