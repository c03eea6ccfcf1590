"""A text field or an enum of the record names its table."""

import pickle

import pyarrow as pa

from lakehouse.formats.avro import AvroDecoder
from lakehouse.formats.frames import SingleSchema
from lakehouse.formats.routed_records import RoutedRecords
from lakehouse_tests.formats.avro.writing import encoded, record

SCHEMA = record(("kind", ["null", {"type": "enum", "name": "Kind", "symbols": ["a", "b", "c"]}]), ("x", "int"))
WRITERS = SingleSchema(SCHEMA)
DECODER = RoutedRecords(
    "kind",
    AvroDecoder(pa.schema([("kind", pa.string())]), WRITERS),
    {
        "a": AvroDecoder(pa.schema([("x", pa.int64())]), WRITERS),
        "b": AvroDecoder(pa.schema([("kind", pa.string()), ("number", pa.int32())]), WRITERS, {"number": "x"}),
    },
)


def test_each_record_is_a_row_of_its_table_or_has_its_reason() -> None:
    values = [
        encoded(SCHEMA, {"kind": kind, "x": x}) for kind, x in [("b", 1), ("a", 2), ("c", 3), (None, 4), ("b", 5)]
    ]
    routed = pickle.loads(pickle.dumps(DECODER)).decode(pa.array([*values, b"\x02", None], pa.binary()))
    rows = {route: (part.rows.tolist(), part.batch.to_pylist()) for route, part in routed.parts.items()}
    assert rows == {"a": ([1], [{"x": 2}]), "b": ([0, 4], [{"kind": "b", "number": 1}, {"kind": "b", "number": 5}])}
    errors = {row: error.error_class for row, error in routed.errors.items()}
    assert errors == {2: "unknown_route", 3: "unknown_route", 5: "not_avro", 6: "tombstone"}
    assert routed.observed.extra == {}
