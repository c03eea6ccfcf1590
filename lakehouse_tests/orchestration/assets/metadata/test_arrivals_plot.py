import base64
import re

from lakehouse.orchestration.assets.metadata.arrivals_plot import arrivals_markdown


def test_a_picture_is_small_whatever_the_span() -> None:
    for arrivals in ({1: 5}, {1: 5, 2: 0, 3: 7}, {minute: minute % 50 for minute in range(500_000)}):
        text = arrivals_markdown(arrivals)
        assert len(text) < 20_000
        match = re.search(r"!\[[^\]]+\]\(data:image/png;base64,([^)]+)\)$", text)
        assert match
        assert base64.b64decode(match[1]).startswith(b"\x89PNG")


def test_times_that_no_calendar_has_are_told_as_far_as_it_goes() -> None:
    """A producer may write any number as a timestamp."""
    text = arrivals_markdown({-(2**63) // 60_000_000: 1, 22_000_000: 5, 2**63 // 60_000_000: 2})
    assert text.startswith("Records by Kafka's timestamp, before ")
    assert "-01-01 00:00 to after 9999-12-31 23:59 UTC" in text


def test_nothing_that_arrived_is_no_picture() -> None:
    assert arrivals_markdown({}) == ""
