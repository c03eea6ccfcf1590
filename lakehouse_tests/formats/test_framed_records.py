"""Records go to their decoder a piece at a time; rows keep their order, and their numbers among all."""

import numpy as np
import pyarrow as pa

from lakehouse.formats.decoded import Observed
from lakehouse.formats.framed_records import GroupedColumns, decode_framed, unknown_schema
from lakehouse.formats.frames import SingleSchema
from lakehouse.formats.frames.framed import Framed
from lakehouse.formats.verdict import RecordError

SCHEMA = pa.schema([pa.field("length", pa.int64())])
EMPTY = RecordError("not_avro", "it is empty")


def decode(framed: Framed, observed: Observed) -> tuple[pa.RecordBatch, dict[int, RecordError]]:
    """How long records are; those that are empty are refused."""
    lengths = [len(value.as_py()) for value in framed.values]
    observed.extra["seen"] += len(lengths)
    errors = {row: EMPTY for row, length in enumerate(lengths) if length == 0}
    return pa.RecordBatch.from_pydict({"length": lengths}, schema=SCHEMA), errors


def test_rows_and_errors_have_the_numbers_of_their_records() -> None:
    values = pa.array([b"ab", b"", b"c"], pa.binary())
    decoded = decode_framed(SCHEMA, SingleSchema("x"), values, None, decode)
    assert decoded.batch.column("length").to_pylist() == [2, 0, 1]
    assert decoded.errors == {1: EMPTY}
    assert decoded.observed.extra == {"seen": 3}


def test_without_records_there_are_no_rows_and_all_columns() -> None:
    decoded = decode_framed(SCHEMA, SingleSchema("x"), pa.array([], pa.binary()), None, decode)
    assert (decoded.batch.num_rows, decoded.batch.schema) == (0, SCHEMA)


def test_groups_are_put_in_the_order_of_their_rows() -> None:
    columns = GroupedColumns(SCHEMA, 4)
    columns.add(np.array([2, 0]), [pa.array([20, 0], pa.int64())])
    columns.add(np.array([3]), [pa.array([30], pa.int64())])
    assert columns.batch().column("length").to_pylist() == [0, None, 20, 30]


def test_a_schema_that_nobody_has_asked_for_is_noted() -> None:
    observed = Observed()
    assert unknown_schema(7, observed).message == "nobody has asked the registry for schema 7"
    assert observed.unresolved == {7}
