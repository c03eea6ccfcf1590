"""Count, sum and sum of squares: exact at any size, additive, and different when a row is lost and another doubled."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.engines.kafka.tally import Tally, added, over_tables

OFFSETS = st.lists(st.integers(0, 2**62), max_size=60)


def by_hand(offsets: list[int]) -> Tally:
    return Tally(len(offsets), sum(offsets), sum(offset * offset for offset in offsets))


@given(OFFSETS)
def test_of_an_array_is_exact_beyond_64_bits(offsets: list[int]) -> None:
    assert Tally.of(np.array(offsets, np.int64)) == by_hand(offsets)


@given(st.integers(0, 2**60), st.integers(0, 300))
def test_of_a_range_is_what_counting_gives(start: int, length: int) -> None:
    assert Tally.of_range(start, start + length) == by_hand(list(range(start, start + length)))


@given(OFFSETS, OFFSETS)
def test_tallies_add_up_and_subtract(left: list[int], right: list[int]) -> None:
    assert by_hand(left) + by_hand(right) == by_hand(left + right)
    assert by_hand(left + right) - by_hand(right) == by_hand(left)


@given(st.integers(0, 2**40), st.integers(3, 1000), st.data())
def test_a_lost_and_a_doubled_row_do_not_cancel(start: int, length: int, data: st.DataObject) -> None:
    whole = np.arange(start, start + length)
    lost = data.draw(st.integers(0, length - 1))
    doubled = data.draw(st.integers(0, length - 1).filter(lambda n: n != lost))
    tampered = whole.copy()
    tampered[lost] = whole[doubled]
    assert Tally.of(tampered).count == length
    assert Tally.of(tampered) != Tally.of_range(start, start + length)


def test_sums_over_tables_and_steps() -> None:
    first, two = {"a": {0: Tally(1, 5, 25)}}, {"a": {0: Tally(1, 6, 36), 1: Tally(1, 0, 0)}, "b": {0: Tally(1, 7, 49)}}
    both = added(first, two)
    assert both == {"a": {0: Tally(2, 11, 61), 1: Tally(1, 0, 0)}, "b": {0: Tally(1, 7, 49)}}
    assert over_tables(both) == {0: Tally(3, 18, 110), 1: Tally(1, 0, 0)}
    assert first == {"a": {0: Tally(1, 5, 25)}}
