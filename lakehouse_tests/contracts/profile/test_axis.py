"""Positions on an axis, as a person reads them."""

import pytest

from lakehouse.contracts.profile.axis import axis_date_scale, shown
from lakehouse.declarations import Kind


@pytest.mark.parametrize(
    ("position", "kind", "text"),
    [
        (0.0, "number", "0"),
        (-7.0, "number", "-7"),
        (12_345.0, "number", "12,345"),
        (0.123456, "number", "0.1235"),
        (12_345.6, "number", "12,346"),
        (1.5e20, "number", "1.5e+20"),
        (15_839.0, "date", "2013-05-14"),
        (-1.0, "date", "1969-12-31"),
        (86_400.0, "instant", "1970-01-02"),
        (86_401.0, "wall_time", "1970-01-02 00:00:01"),
        (-1e12, "instant", "before year 1"),
        (1e9, "date", "after year 9999"),
    ],
)
def test_a_position_is_shown_as_what_it_stands_for(position: float, kind: Kind, text: str) -> None:
    assert shown(position, kind) == text


def test_only_times_are_days_on_a_chart() -> None:
    assert [axis_date_scale(kind) for kind in ("number", "text", "date", "instant")] == [None, None, 1.0, 1 / 86_400]
