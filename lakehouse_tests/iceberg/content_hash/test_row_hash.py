"""The digest of rows: the same for the same rows in any order and any batches, another for any other rows.

Guarded mechanisms: count and two sums of row hashes over all columns; nulls and nested values keep their place.
"""

import random
import uuid
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakehouse.iceberg.content_hash.row_hash import Digest, digest_of

STRUCT = pa.struct([("x", pa.int64()), ("y", pa.list_(pa.string()))])
# Type → values that are not equal to each other.
VALUES: dict[pa.DataType, list[Any]] = {
    pa.bool_(): [True, False],
    pa.int32(): [0, 1, -1, 2**31 - 1],
    pa.int64(): [0, 1, -1, 2**62],
    pa.float32(): [0.0, 1.5, float("inf"), float("nan")],
    pa.float64(): [0.0, 1.5, -1.5, float("inf"), float("nan")],
    pa.decimal128(38, 10): [Decimal(0), Decimal("1.1"), Decimal("-12345678901234567890.1")],
    pa.date32(): [date(1970, 1, 1), date(2013, 5, 5)],
    pa.time64("us"): [time(0), time(1, 2, 3, 4)],
    pa.timestamp("us"): [0, 1, 1_356_998_400_000_001],
    pa.timestamp("us", tz="UTC"): [datetime(1970, 1, 1, tzinfo=UTC), datetime(2013, 1, 1, tzinfo=UTC)],
    pa.string(): ["", "a", "b", "ab", "\0"],
    pa.large_string(): ["", "a", "ba"],
    pa.binary(): [b"", b"\0", b"a"],
    pa.binary(4): [b"\0" * 4, b"abcd"],
    pa.uuid(): [uuid.UUID(int=0), uuid.UUID(int=1)],
    pa.list_(pa.int64()): [[], [None], [0], [1, None], [None, 1], [1, 1], [1]],
    pa.list_(pa.list_(pa.int64())): [[], [[]], [None], [[1], [2]], [[1, 2]], [[], [1, 2]], [[1, 2], []]],
    pa.map_(pa.string(), pa.int64()): [[], [("a", 1)], [("a", None)], [("b", 1)], [("a", 1), ("b", 1)]],
    STRUCT: [{"x": None, "y": None}, {"x": 1, "y": None}, {"x": 1, "y": []}, {"x": None, "y": ["1"]}],
    pa.list_(STRUCT): [[], [None], [{"x": None, "y": None}], [{"x": 1, "y": ["a"]}], [{"x": 1, "y": ["a", None]}]],
}
TYPES = list(VALUES)


def batch(rows: list[dict[str, Any]], types: dict[str, pa.DataType]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array([row[name] for row in rows], kind) for name, kind in types.items()], names=list(types)
    )


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[dict[str, Any]], dict[str, pa.DataType]]:
    kinds = draw(st.lists(st.sampled_from(range(len(TYPES))), min_size=1, max_size=5))
    types = {f"c{i}": TYPES[kind] for i, kind in enumerate(kinds)}
    row = st.fixed_dictionaries({n: st.sampled_from([None, *VALUES[t]]) for n, t in types.items()})
    return draw(st.lists(row, min_size=1, max_size=8)), types


@settings(max_examples=150, deadline=None)
@given(tables(), st.randoms(use_true_random=False), st.integers(1, 4))
def test_order_and_batches_do_not_matter(table: Any, shuffle: random.Random, size: int) -> None:
    rows, types = table
    whole = digest_of(batch(rows, types))
    mixed = list(rows)
    shuffle.shuffle(mixed)
    parts = [digest_of(batch(mixed, types).slice(i, size)) for i in range(0, len(mixed), size)]
    assert sum(parts, Digest()) == whole
    assert whole.rows == len(rows)


@settings(max_examples=300, deadline=None)
@given(tables(), st.data())
def test_any_other_rows_show(table: Any, data: st.DataObject) -> None:
    """One row is lost, doubled, put in the place of another, or has another value in one column."""
    rows, types = table
    before = digest_of(batch(rows, types))
    position = data.draw(st.integers(0, len(rows) - 1))
    name = data.draw(st.sampled_from(sorted(types)))
    other = data.draw(st.sampled_from([None, *VALUES[types[name]]]))
    changed = [dict(row) for row in rows]
    changed[position][name] = other
    assert digest_of(batch([*rows, rows[position]], types)) != before
    if len(rows) > 1:
        assert digest_of(batch(rows[:position] + rows[position + 1 :], types)) != before
        twin = [*rows[:position], rows[position - 1], *rows[position + 1 :]]
        assert (digest_of(batch(twin, types)) == before) == all(
            repr(rows[position][n]) == repr(rows[position - 1][n]) for n in types
        )
    assert (digest_of(batch(changed, types)) == before) == (repr(other) == repr(rows[position][name]))


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_every_value_is_another_one(kind: pa.DataType) -> None:
    """Null too; and each is the same wherever it stands."""
    values = [None, *VALUES[kind]]
    alone = [digest_of(batch([{"a": value}], {"a": kind})) for value in values]
    assert len(set(alone)) == len(values)
    column = batch([{"a": value} for value in values], {"a": kind})
    assert [digest_of(column.slice(position, 1)) for position in range(len(values))] == alone


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_values_keep_their_column_and_their_row(kind: pa.DataType) -> None:
    """The same values in the other column, or one of them in the other row, are other rows."""
    first, second = VALUES[kind][0], VALUES[kind][1]
    types = {"a": kind, "b": kind}
    digests = [
        digest_of(batch([dict(zip("ab", row, strict=True)) for row in rows], types))
        for rows in (
            [(first, second), (second, first)],
            [(first, first), (second, second)],
            [(first, None), (None, first)],
            [(None, first), (None, first)],
            [(None, None), (first, first)],
        )
    ]
    assert len(set(digests)) == len(digests)


def test_equal_where_sql_says_so() -> None:
    """A writer may store either zero, and any of the values that are no number."""
    kind = {"a": pa.float64()}
    assert digest_of(batch([{"a": 0.0}], kind)) == digest_of(batch([{"a": -0.0}], kind))
