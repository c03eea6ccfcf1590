"""Runs say of offsets what counting them one by one says."""

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lakehouse.proofs.foreign.offset_runs import Runs, Span, some

FILES = st.lists(st.lists(st.integers(0, 40), max_size=30), max_size=5)


def runs_of(files: list[list[int]]) -> Runs:
    return Runs.together(Runs.of(np.array(offsets, np.int64), number) for number, offsets in enumerate(files))


@settings(max_examples=50)
@given(FILES)
def test_repeated_and_missing_are_those_that_counting_finds(files: list[list[int]]) -> None:
    runs, times = runs_of(files), Counter(offset for offsets in files for offset in offsets)
    assert runs.rows == times.total()
    repeated = {n: repetition for repetition in runs.repeated() for n in range(*repetition.span)}
    assert {n: repetition.times for n, repetition in repeated.items()} == {n: t for n, t in times.items() if t > 1}
    for n, repetition in repeated.items():
        holders = {number for number, offsets in enumerate(files) if n in offsets}
        assert holders <= repetition.files
    missing = [n for span in runs.missing(Span(5, 35)) for n in range(*span)]
    assert missing == [n for n in range(5, 35) if n not in times]
    bounds = runs.bounds()
    assert bounds == (Span(min(times), max(times) + 1) if times else None)


def test_a_file_of_consecutive_offsets_is_one_run_however_many_rows_repeat_one() -> None:
    assert len(Runs.of(np.arange(10_000, dtype=np.int64), 0).starts) == 1
    zeros = Runs.of(np.zeros(10_000, np.int64), 7)
    assert [(r.span, r.times, r.files) for r in zeros.repeated()] == [(Span(0, 1), 10_000, frozenset({7}))]


def test_files_are_numbered_on() -> None:
    runs = Runs.of(np.array([1, 1], np.int64), 2).numbered_from(10)
    assert runs.repeated()[0].files == {12}


def test_many_spans_are_cut_for_a_person() -> None:
    assert some([Span(3, 4), Span(5, 9)]) == "3, [5, 9)"
    assert some((Span(n, n + 1) for n in range(12)), shown=2) == "0, 1 and 10 more"
