"""Sums beyond 64 bits survive as texts."""

from lakehouse.engines.kafka.statement_text import tallies_of, text_of
from lakehouse.engines.kafka.tally import Tally


def test_a_sum_of_squares_of_any_size_comes_back() -> None:
    tallies = {"raw.a": {3: Tally(2, 2**70, 2**130)}, "raw.b": {}}
    assert tallies_of(text_of(tallies)) == tallies


def test_numbers_of_partitions_are_keys_in_one_order() -> None:
    assert text_of({2: 5, 1: 7}) == '{"1":7,"2":5}'
