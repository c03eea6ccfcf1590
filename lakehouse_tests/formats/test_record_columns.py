"""Key, value and headers as columns, beside what was decoded of the value or alone."""

import numpy as np
import pyarrow as pa

from lakehouse.formats.headers import Header, write_headers
from lakehouse.formats.record_columns import RecordColumns
from lakehouse.formats.verdict import RecordError

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("x", pa.int32()),
        pa.field("trace", pa.string()),
        pa.field("all", HEADERS),
    ]
)
COLUMNS = RecordColumns(SCHEMA, {"id": "key", "trace": "header:trace", "all": "headers"})
RECORDS = pa.RecordBatch.from_pydict(
    {
        "key": pa.array([b"a", None, b"\xff", b"d"], pa.binary()),
        "value": pa.array([b"1", b"2", b"3", None], pa.binary()),
        "headers": pa.array(
            [write_headers([Header("trace", b"t1"), Header("trace", b"t2"), Header("n")]), None, None, "[]"],
            pa.string(),
        ),
    }
)


def test_only_what_is_no_part_of_the_record_is_decoded() -> None:
    assert COLUMNS.value_schema.names == ["x"]


def test_parts_stand_beside_decoded_columns_and_what_does_not_fit_is_refused() -> None:
    errors: dict[int, RecordError] = {}
    decoded = pa.RecordBatch.from_pydict({"x": pa.array([1, 2, 3], pa.int32())})
    rows, batch = COLUMNS.complete(RECORDS, np.array([0, 1, 2]), decoded, errors)
    assert rows is not None
    assert rows.tolist() == [0]
    entries = [{"key": "trace", "value": b"t1"}, {"key": "trace", "value": b"t2"}, {"key": "n", "value": None}]
    assert batch.to_pylist() == [{"id": "a", "x": 1, "trace": "t2", "all": entries}]
    assert {row: error.error_class for row, error in errors.items()} == {1: "missing_field", 2: "wrong_type"}


def test_a_record_may_be_nothing_but_its_parts() -> None:
    schema = pa.schema([pa.field("value", pa.binary(), nullable=False), pa.field("headers", HEADERS)])
    errors: dict[int, RecordError] = {}
    nothing = pa.RecordBatch.from_arrays([], schema=pa.schema([]))
    columns = RecordColumns(schema, {"value": "value", "headers": "headers"})
    rows, batch = columns.complete(RECORDS, None, nothing, errors)
    assert rows is not None
    assert rows.tolist() == [0, 1, 2]
    assert batch.column("value").to_pylist() == [b"1", b"2", b"3"]
    assert batch.column("headers").to_pylist()[1:] == [None, None]
    assert {row: error.error_class for row, error in errors.items()} == {3: "tombstone"}
