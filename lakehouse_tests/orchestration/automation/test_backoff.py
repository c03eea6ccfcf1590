"""After runs that failed the next one waits: longer each time, and never for more than an hour."""

from datetime import UTC, datetime, timedelta

from lakehouse.orchestration.automation.backoff import Failures, pause

ENDED = datetime(2026, 1, 1, tzinfo=UTC)


def test_the_pause_doubles_up_to_an_hour() -> None:
    minutes = [pause(failures) // timedelta(minutes=1) for failures in (1, 2, 3, 6, 7, 1000)]
    assert minutes == [1, 2, 4, 32, 60, 60]


def test_a_run_that_has_to_wait_is_told_until_when() -> None:
    assert Failures().reason_to_wait(ENDED) == ""
    twice = Failures(2, ENDED)
    assert twice.reason_to_wait(ENDED) == "the last 2 runs failed, the next try is at 00:02:00 UTC"
    assert twice.reason_to_wait(ENDED + timedelta(minutes=2)) == ""
    assert Failures(1, ENDED).reason_to_wait(ENDED).startswith("the last run failed, ")
