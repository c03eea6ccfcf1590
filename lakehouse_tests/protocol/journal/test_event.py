"""An event as a row of the log: nulls for what nobody said, a message of a bounded length, details in one order."""

from datetime import UTC, date, datetime

from lakehouse.protocol.journal.event import Event

NOW = datetime(2026, 1, 2, tzinfo=UTC)
EVENT = Event(id="run:r1", kind="run", timestamp=datetime(2026, 1, 1, tzinfo=UTC), outcome="success", message="done")


def test_what_nobody_said_is_null() -> None:
    row = EVENT.to_row(NOW)
    assert {name for name, value in row.to_columns().items() if value is not None} == {
        *("event_id", "kind", "at", "outcome", "message", "details", "logged_at")
    }
    assert (row.timestamp, row.logged_at, row.details) == (EVENT.timestamp, NOW, "{}")


def test_a_long_message_is_cut() -> None:
    event = Event(id="e", kind="refusal", timestamp=NOW, outcome="refused", message="a" * 3000)
    assert event.to_row(NOW).message == "a" * 2000


def test_details_do_not_depend_on_the_order_in_which_they_were_found() -> None:
    rows = [
        Event(id="e", kind="run", timestamp=NOW, outcome="x", message="", runtime_date="2013-05-14", details=details)
        for details in ({"b": 1, "a": [2]}, {"a": [2], "b": 1})
    ]
    assert [row.to_row(NOW).details for row in rows] == ['{"a":[2],"b":1}'] * 2
    assert rows[0].to_row(NOW).runtime_date == date(2013, 5, 14)
