from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lakehouse.automation.decision import MANY, RETRY_AFTER, Decision, decide, position_digest

NOW = datetime(2026, 5, 14, 12, 0, tzinfo=UTC)


def due(*, lag: int = 1, begun: bool = True, waited: bool = False, running: bool = False, cursor: str = "") -> Decision:
    return decide(
        "flights", position="here", lag=lag, begun=begun, waited=waited, running=running, cursor=cursor, now=NOW
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


def test_a_stream_has_one_run_at_a_time() -> None:
    assert due(lag=MANY, waited=True, running=True).run_key is None


def test_a_failed_position_is_tried_again_later_and_not_at_once() -> None:
    def key(at: datetime, position: str = "here") -> str | None:
        return decide(
            "s", position=position, lag=MANY, begun=True, waited=True, running=False, cursor="", now=at
        ).run_key

    assert key(NOW) == key(NOW + timedelta(seconds=30))
    assert key(NOW) != key(NOW + RETRY_AFTER)
    assert key(NOW) != key(NOW, "there")


def test_a_position_has_one_name_whatever_the_order() -> None:
    assert position_digest({0: 5, 10: 7}) == position_digest({10: 7, 0: 5})
    assert position_digest({0: 5}) != position_digest({0: 6})
