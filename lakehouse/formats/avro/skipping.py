"""Passes over values that no column wants, and finds where items of arrays and maps are."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from lakehouse.formats.avro.cursor import TRUNCATED, Cursor, Longs
from lakehouse.formats.avro.nodes import AvroType
from lakehouse.formats.verdict import RecordError

Skip = Callable[[Cursor], None]
NO_BRANCH = RecordError("not_avro", "a union has no such branch")


def skip(node: AvroType) -> Skip:  # noqa: PLR0911 # one return a type
    """What moves a cursor behind values of a type."""
    match node.kind:
        case "null":
            return _nothing
        case "boolean":
            return _fixed(1)
        case "int" | "long" | "enum":
            return _number
        case "float":
            return _fixed(4)
        case "double":
            return _fixed(8)
        case "bytes" | "string":
            return _lengths
        case "fixed":
            return _fixed(node.size)
        case "record":
            return _record(node)
        case "union":
            return _union(node)
        case _:
            return _items(node)


def each_item(cursor: Cursor, least_bytes: int, read: Callable[[Cursor, Longs], None]) -> Longs:
    """Goes through the items of arrays or maps, the first of each, then the second of each, and so on.

    Args:
        cursor: before the arrays; afterwards behind them.
        least_bytes: what an item takes at least, so that no count can ask for more items than there are bytes.
        read: takes a cursor over the arrays that have a next item, and which they are.

    Returns:
        How many items each has.
    """
    remaining = np.zeros(len(cursor), np.int64)
    counts = np.zeros(len(cursor), np.int64)
    live = np.flatnonzero(cursor.alive)
    while True:
        before_block = live[remaining[live] == 0]
        if before_block.size:
            part = cursor.take(before_block)
            remaining[before_block] = _block(part, least_bytes)
            cursor.put(before_block, part)
            live = live[remaining[live] > 0]
        if not live.size:
            return counts
        part = cursor.take(live)
        read(part, live)
        cursor.put(live, part)
        counts[live] += 1
        remaining[live] -= 1
        live = live[part.alive]


def _block(cursor: Cursor, least_bytes: int) -> Longs:
    """How many items the next block has; one with a negative count says also how long it is."""
    count = cursor.long()
    sized = np.flatnonzero(count < 0)
    if sized.size:
        part = cursor.take(sized)
        part.long()
        cursor.put(sized, part)
        count[sized] = -count[sized]
    wrong = np.flatnonzero((count < 0) | (count > (cursor.end - cursor.position) // least_bytes))
    if wrong.size:
        cursor.fail(wrong, TRUNCATED)
        count[wrong] = 0
    return count


def branches(cursor: Cursor, count: int) -> Longs:
    """Which branch of a union each value is of; the first, where there is no such branch."""
    branch = cursor.long()
    wrong = np.flatnonzero((branch < 0) | (branch >= count))
    if wrong.size:
        cursor.fail(wrong, NO_BRANCH)
        branch[wrong] = 0
    return branch


def _nothing(cursor: Cursor) -> None:
    del cursor


def _number(cursor: Cursor) -> None:
    cursor.long()


def _lengths(cursor: Cursor) -> None:
    cursor.lengths()


def _fixed(size: int) -> Skip:
    return lambda cursor: cursor.skip_bytes(size)


def _record(node: AvroType) -> Skip:
    parts = [skip(part) for _, part in node.fields]

    def skip_record(cursor: Cursor) -> None:
        for part in parts:
            part(cursor)

    return skip_record


def _union(node: AvroType) -> Skip:
    parts = [skip(part) for part in node.parts]

    def skip_union(cursor: Cursor) -> None:
        branch = branches(cursor, len(parts))
        for number, part in enumerate(parts):
            chosen = np.flatnonzero(branch == number)
            if chosen.size:
                inner = cursor.take(chosen)
                part(inner)
                cursor.put(chosen, inner)

    return skip_union


def _items(node: AvroType) -> Skip:
    part = skip(node.parts[0])
    keyed = node.kind == "map"

    def skip_item(cursor: Cursor, chosen: Longs) -> None:
        del chosen
        if keyed:
            cursor.lengths()
        part(cursor)

    least = node.parts[0].least_bytes + (1 if keyed else 0)

    def skip_items(cursor: Cursor) -> None:
        each_item(cursor, least, skip_item)

    return skip_items


class Refusal:
    """Passes over values that a column cannot take, and marks their rows."""

    def __init__(self, node: AvroType, declared: pa.DataType, error: RecordError) -> None:
        self._skip, self._declared, self._error = skip(node), declared, error

    def __call__(self, cursor: Cursor) -> pa.Array:
        """Nulls, whose rows are marked."""
        self._skip(cursor)
        cursor.fail(np.arange(len(cursor)), self._error)
        return pa.nulls(len(cursor), self._declared)


def skipped(node: AvroType) -> Callable[[Cursor], pa.Array]:
    """Passes over values, as a reader of a column that there is not."""
    passed = skip(node)

    def read(cursor: Cursor) -> pa.Array:
        passed(cursor)
        return pa.nulls(0)

    return read
