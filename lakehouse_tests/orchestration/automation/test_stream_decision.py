from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lakehouse.orchestration.automation.backoff import Failures, pause
from lakehouse.orchestration.automation.sensor_options import DEFAULT_OPTIONS, SensorOptions
from lakehouse.orchestration.automation.stream_decision import (
    RETRY_AFTER,
    Decision,
    decide,
    decide_refusal,
    position_digest,
)

MANY = DEFAULT_OPTIONS.enough_records
NOW = datetime(2026, 5, 14, 12, 0, tzinfo=UTC)


def due(
    *,
    position: str = "here",
    lag: int = 1,
    begun: bool = True,
    waited: bool = False,
    running: bool = False,
    failures: int = 0,
    cursor: str = "",
    now: datetime = NOW,
    options: SensorOptions = DEFAULT_OPTIONS,
) -> Decision:
    return decide(
        "flights",
        position=position,
        lag=lag,
        begun=begun,
        waited=waited,
        running=running,
        failures=Failures(failures, NOW - timedelta(seconds=10)),
        cursor=cursor,
        now=now,
        options=options,
    )


def test_nothing_unread_is_no_reason() -> None:
    assert due(lag=0) == Decision(None, "nothing unread", "")


def test_few_young_records_wait_for_company() -> None:
    decision = due(lag=3)
    assert decision.run_key is None
    assert "3 unread" in decision.reason


@pytest.mark.parametrize("more", [{"waited": True}, {"lag": MANY}, {"begun": False, "lag": 0}])
def test_an_old_record_or_many_or_a_first_start_begin_a_run(more: dict[str, Any]) -> None:
    assert due(**more).run_key is not None


def test_what_was_unread_at_the_last_look_has_waited_whatever_its_timestamp_says() -> None:
    first = due()
    assert first.run_key is None
    assert due(cursor=first.cursor).run_key is not None
    assert due(cursor="elsewhere").run_key is None


def test_patience_and_how_many_are_enough_can_be_chosen() -> None:
    assert due(lag=2, options=SensorOptions(enough_records=2)).run_key is not None
    assert due(lag=1, options=SensorOptions(enough_records=2)).run_key is None
    assert due(lag=1, options=SensorOptions(patience=timedelta(0))).run_key is not None
    patient = due(lag=1, options=SensorOptions(patience=timedelta(seconds=90)))
    assert patient.reason == "1 unread, none older than 90 s"


def test_a_stream_has_one_run_at_a_time() -> None:
    assert due(lag=MANY, waited=True, running=True).run_key is None


def test_a_position_names_its_run() -> None:
    key = due(lag=MANY).run_key
    assert due(lag=MANY, now=NOW + timedelta(seconds=30)).run_key == key
    assert due(lag=MANY, now=NOW + RETRY_AFTER).run_key != key
    assert due(lag=MANY, position="there").run_key != key


def test_after_a_failure_a_stream_waits_longer_each_time_whatever_arrives() -> None:
    failed = due(lag=MANY, waited=True, failures=1, cursor="here")
    assert failed == Decision(None, "10000 unread; the last run failed, the next try is at 12:00:50 UTC", "here")
    tries, now = 0, NOW
    while now < NOW + timedelta(days=1):
        tries += 1
        decision = decide_after(tries, ended=now, now=now)
        assert decision.run_key is None
        now += pause(tries)
        assert decide_after(tries, ended=now - pause(tries), now=now).run_key is not None
    assert tries == 29, "of a stream that never gets on in a day; 288 without a back-off"


def decide_after(failures: int, *, ended: datetime, now: datetime) -> Decision:
    failed = Failures(failures, ended)
    return decide("s", position="p", lag=9, begun=True, waited=True, running=False, failures=failed, cursor="", now=now)


def test_tables_that_will_refuse_wait_as_well() -> None:
    def refused(failures: int, *, message: str = "lost [0, 9).", running: bool = False) -> Decision:
        failed = Failures(failures, NOW)
        return decide_refusal("s", message, kind="RetentionOvertook", running=running, failures=failed, now=NOW)

    first = refused(0)
    assert first.run_key is not None
    assert first.reason == "lost [0, 9)."
    assert refused(0, message="lost [0, 99).").run_key == first.run_key, "a range that grows is no news"
    assert refused(0, running=True).run_key is None
    assert refused(2) == Decision(None, "lost [0, 9). the last 2 runs failed, the next try is at 12:02:00 UTC", "")


def test_a_position_has_one_name_whatever_the_order() -> None:
    assert position_digest({0: 5, 10: 7}) == position_digest({10: 7, 0: 5})
    assert position_digest({0: 5}) != position_digest({0: 6})
