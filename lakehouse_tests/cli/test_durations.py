"""A length of time as a person writes it."""

from datetime import timedelta

import pytest

from lakehouse.cli.durations import NoDuration, duration


def test_a_number_and_a_unit() -> None:
    lengths = {text: duration(text, "--for") for text in ("90s", "90m", "1.5h", " 7d ")}
    assert lengths == {
        "90s": timedelta(seconds=90),
        "90m": timedelta(minutes=90),
        "1.5h": timedelta(hours=1.5),
        " 7d ": timedelta(days=7),
    }


@pytest.mark.parametrize("text", ["", "7", "d", "7 days", "-1h", "1w"])
def test_anything_else_names_the_option(text: str) -> None:
    with pytest.raises(NoDuration, match="--for is ") as refused:
        duration(text, "--for")
    assert "90m, 24h or 7d" in refused.value.remedy


def test_more_than_a_hundred_years_is_refused() -> None:
    with pytest.raises(NoDuration, match="--for is '99999999999999d'") as refused:
        duration("99999999999999d", "--for")
    assert "at most 36500 days" in refused.value.remedy
