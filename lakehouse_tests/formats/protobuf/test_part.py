"""A value that is refused marks its own record, the first reason counts, and items belong to their lists' records."""

from lakehouse.formats.protobuf.part import Part, take_each
from lakehouse.formats.verdict import RecordError

FIRST, SECOND = RecordError("wrong_type", "first"), RecordError("wrong_type", "second")


def test_items_and_chosen_values_mark_the_record_that_they_are_of() -> None:
    refused: dict[int, RecordError] = {}
    part = Part([4, 7, 9], refused)
    items = part.items([2, 0, 1])
    assert list(items.rows) == [4, 4, 9]
    items.fail(2, FIRST)
    part.chosen([1, 2]).fail(1, SECOND)
    assert refused == {9: FIRST}


def test_nulls_are_not_converted_and_what_is_refused_is_one() -> None:
    refused: dict[int, RecordError] = {}
    converted = take_each([1, None, -1], Part([0, 1, 2], refused), lambda n: n * 2 if n > 0 else FIRST)
    assert converted == [2, None, None]
    assert refused == {2: FIRST}
