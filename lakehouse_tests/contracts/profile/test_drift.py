"""A column is judged by its own history: noise passes, a shift does not, and a short history says nothing."""

import random

import pytest

from lakehouse.contracts.profile.drift import compare_with_past
from lakehouse.contracts.profile.statistics import ColumnProfile
from lakehouse_tests.contracts.profile.samples import statistics_of, texts_of

TOLERANCE = 5.0


def numbers(seed: int, *, shift: float = 0.0, scale: float = 1.0, missing: int = 20, rows: int = 1000) -> list:
    chance = random.Random(seed)
    return [None] * missing + [round(shift + scale * chance.gauss(50, 10), 1) for _ in range(rows - missing)]


def names(seed: int, weights: tuple[int, ...] = (60, 30, 10), rows: int = 1000) -> list[str | None]:
    return list(random.Random(seed).choices(("jfk", "lga", "ewr"), weights, k=rows))


PAST = [statistics_of(numbers(seed)) for seed in range(12)]
PAST_NAMES = [texts_of(names(seed)) for seed in range(12)]


def outside(now: ColumnProfile, past: list[ColumnProfile]) -> set[str]:
    return {statistic.name for statistic in compare_with_past(now, past, TOLERANCE).outside}


@pytest.mark.parametrize("seed", range(100, 130))
def test_noise_is_no_drift(seed: int) -> None:
    assert not outside(statistics_of(numbers(seed)), PAST)
    assert not outside(texts_of(names(seed)), PAST_NAMES)


def test_each_kind_of_drift_is_found_and_named() -> None:
    assert outside(statistics_of(numbers(99, shift=10)), PAST) == {"median", "distance from usual"}
    assert "middle half" in outside(statistics_of(numbers(99, shift=-50, scale=2)), PAST)
    assert outside(statistics_of(numbers(99, missing=200)), PAST) == {"share missing"}
    assert outside(texts_of(names(99, (30, 60, 10))), PAST_NAMES) == {"distance from usual"}


def test_a_change_of_shape_that_no_quartile_shows_is_found() -> None:
    """A third of the values at the middle is moved to it exactly: quartiles stay, the distribution does not."""
    flat = [statistics_of([float(n % 100) for n in range(1000)]) for _ in range(8)]
    now = statistics_of([50.0 if 26 <= n % 100 <= 73 else float(n % 100) for n in range(1000)])
    assert outside(now, flat) == {"distance from usual"}


def test_a_constant_history_does_not_alarm_on_noise_but_on_a_change() -> None:
    same = [statistics_of(numbers(1)) for _ in range(10)]
    assert not outside(statistics_of(numbers(2)), same)
    assert outside(statistics_of(numbers(2, shift=10)), same)
    sevens = [statistics_of([7.0] * 100)] * 10
    assert not outside(statistics_of([7.0] * 90), sevens)
    assert "median" in outside(statistics_of([8.0] * 100), sevens)


def test_one_bad_snapshot_in_the_past_does_not_widen_the_band() -> None:
    spoilt = [*PAST, statistics_of(numbers(5, shift=1000)), statistics_of([None] * 10)]
    assert not outside(statistics_of(numbers(99)), spoilt)
    assert "median" in outside(statistics_of(numbers(99, shift=10)), spoilt)


def test_a_short_history_judges_nothing() -> None:
    shifted = statistics_of(numbers(99, shift=1000))
    few = compare_with_past(shifted, PAST[:4], TOLERANCE)
    assert (few.points, few.banded) == (4, ())
    assert compare_with_past(shifted, PAST[:5], TOLERANCE).outside
    assert not compare_with_past(statistics_of([]), PAST, TOLERANCE).banded
    assert compare_with_past(texts_of(names(1)), PAST, TOLERANCE).points == 0, "the column was of another type"


def test_a_column_that_lost_all_its_values_has_drifted() -> None:
    assert outside(statistics_of([None] * 1000), PAST) == {"share missing"}


def test_a_wider_tolerance_passes_more() -> None:
    now = statistics_of(numbers(99, shift=10))
    assert not compare_with_past(now, PAST, 100).outside


def test_what_differs_most_is_named() -> None:
    comparison = compare_with_past(texts_of(names(99, (30, 60, 10))), PAST_NAMES, TOLERANCE)
    assert {gap.name for gap in comparison.worst[:2]} == {"jfk", "lga"}
