"""Histograms can be added up whenever they were made, because all bins are cut out of one grid."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.contracts.profile.bins import REACH, Bins, aligned, grid_for, pooled
from lakehouse_tests.contracts.profile.samples import binned, statistics_of

VALUES = st.lists(st.floats(-1e6, 1e6) | st.integers(-1000, 1000).map(float), min_size=1, max_size=60)


@given(VALUES, st.integers(-8, 8), st.integers(0, 6))
def test_joined_bins_are_those_that_wider_ones_would_have_counted(
    values: list[float], exponent: int, shift: int
) -> None:
    fine = binned(values, Bins(exponent, -(2**40), 2**40))
    assert fine.coarsened(exponent + shift).counts == binned(values, Bins(exponent + shift, -(2**40), 2**40)).counts


@given(VALUES, VALUES)
def test_two_histograms_of_any_width_add_up_to_that_of_all_values(first: list[float], second: list[float]) -> None:
    made = [binned(values, Bins(exponent, -(2**40), 2**40)) for values, exponent in ((first, -2), (second, 3))]
    assert pooled(made).counts == binned(first + second, Bins(3, -(2**40), 2**40)).counts


@given(VALUES, VALUES)
def test_aligned_histograms_have_the_same_bins_and_lose_no_value(first: list[float], second: list[float]) -> None:
    given_ones = [column.spread.bins for column in map(statistics_of, (first, second)) if column.spread]
    mine, theirs = aligned(given_ones)
    assert (mine.exponent, mine.lowest, mine.highest) == (theirs.exponent, theirs.lowest, theirs.highest)
    assert (mine.total, theirs.total) == (len(first), len(second))


def test_histograms_that_lie_apart_stay_apart() -> None:
    for strays in ([], [1e300, -1e300]):
        near, far = (statistics_of([*(offset + n for n in range(1000)), *strays]).spread for offset in (0.0, 1e9))
        assert near
        assert far
        mine, theirs = (bins.shares() for bins in aligned([near.bins, far.bins]))
        assert sum(min(share, theirs.get(number, 0)) for number, share in mine.items()) < 0.01


def test_bins_cannot_be_cut() -> None:
    with pytest.raises(ValueError, match="joined, not cut"):
        Bins(3, 0, 1).coarsened(2)


@given(*[st.floats(-1e307, 1e307)] * 3, st.booleans())
def test_any_spread_gets_bins_whose_numbers_are_exact(a: float, b: float, c: float, whole: bool) -> None:
    low, middle, high = sorted((a, b, c))
    grid = grid_for(low, middle, high, whole=whole)
    assert grid.highest - grid.lowest == 2 * REACH
    assert abs(grid.lowest) <= 2**54
    assert math.isfinite(grid.highest * grid.width)
    assert 0 < grid.width < math.inf
    assert grid.lowest * grid.width <= middle <= (grid.highest + 1) * grid.width


def test_whole_numbers_get_no_bins_between_them() -> None:
    assert grid_for(1, 2, 3, whole=True).width == 1
    assert grid_for(1, 2, 3, whole=False).width < 1
