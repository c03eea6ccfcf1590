"""How far apart two distributions are, compared with the definition computed from all values."""

from bisect import bisect_right

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.contracts.profile.distance import OTHERS, distance
from lakehouse_tests.contracts.profile.samples import statistics_of, texts_of

WHOLE = st.lists(st.integers(-60, 60).map(float), min_size=1, max_size=80)
TEXTS = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=80)


@given(WHOLE, WHOLE)
def test_of_whole_numbers_it_is_the_kolmogorov_smirnov_distance(first: list[float], second: list[float]) -> None:
    left, other = sorted(first), sorted(second)
    exact = max(
        abs(bisect_right(left, value) / len(left) - bisect_right(other, value) / len(other))
        for value in {*first, *second}
    )
    result = distance(statistics_of(first), statistics_of(second))
    assert result.value == pytest.approx(exact)
    assert not result.at_least


@given(TEXTS, TEXTS)
def test_of_texts_it_is_the_total_variation(first: list[str], second: list[str]) -> None:
    exact = sum(abs(first.count(t) / len(first) - second.count(t) / len(second)) for t in "abcdef") / 2
    assert distance(texts_of(first), texts_of(second)).value == pytest.approx(exact)


@given(TEXTS, TEXTS, st.integers(1, 4))
def test_rare_texts_that_are_not_known_never_make_it_larger(first: list[str], second: list[str], most: int) -> None:
    known = distance(texts_of(first), texts_of(second)).value
    cut = distance(texts_of(first, most), texts_of(second, most))
    assert cut.value <= known + 1e-9
    assert cut.at_least == (len(set(first)) > most or len(set(second)) > most)


def test_the_worst_bins_and_texts_are_named() -> None:
    result = distance(statistics_of([1.0] * 9 + [2.0]), statistics_of([1.0] * 5 + [3.0] * 5))
    assert [(gap.name, round(gap.here, 2), round(gap.there, 2)) for gap in result.worst] == [
        ("3", 0.0, 0.5),
        ("1", 0.9, 0.5),
        ("2", 0.1, 0.0),
    ]
    assert [gap.name for gap in distance(texts_of(["a"] * 4), texts_of(["a", "b", "b", "b"])).worst] == ["a", "b"]
    assert OTHERS in {gap.name for gap in distance(texts_of(["a", "b", "c"], 1), texts_of(["a", "a", "a"])).worst}


def test_values_far_from_each_other_have_nothing_in_common() -> None:
    assert distance(statistics_of([1.0, 2.0, 3.0]), statistics_of([1e12, 2e12])).value == 1.0
    assert distance(texts_of(["a"]), texts_of(["b"])).value == 1.0
