"""A person is shown the beginning of a long value, and sees that there is more."""

from lakehouse.contracts.short_text import LONGEST, short_text


def test_only_what_is_too_long_is_cut() -> None:
    assert short_text("x" * LONGEST) == "x" * LONGEST
    assert short_text("x" * (LONGEST + 1)) == "x" * LONGEST + "…"
    assert short_text("abc", 2) == "ab…"
    assert (short_text(""), short_text(None)) == ("", "null")
