"""A publish of a number goes into both tables, or into none."""

import pytest

from lakehouse.acceptance.numbers import bases_of, main, numbers_in, stage_number
from lakehouse.acceptance.scratch import Scratch
from lakehouse.protocol.commit import publish

pytestmark = pytest.mark.slow


def test_what_is_staged_is_seen_by_nobody(numbers: Scratch) -> None:
    catalog = numbers.catalog
    staged = stage_number(catalog, bases_of(numbers, catalog), numbers.attempt("write"), 7)
    assert numbers_in(numbers) == [[], []]
    publish(catalog, staged)
    assert numbers_in(numbers) == [[7], [7]]


def test_a_process_of_its_own_finds_the_tables(numbers: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in numbers.environ.items():
        monkeypatch.setenv(name, value)
    main(numbers.namespace, "8")
    assert numbers_in(numbers) == [[8], [8]]
