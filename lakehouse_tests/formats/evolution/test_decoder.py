"""Second columns take the values that first ones refuse: each record is tried with every set of them."""

import pickle

import pyarrow as pa

from lakehouse.formats.evolution.decoder import EvolvingDecoder, second_columns
from lakehouse.formats.json import JsonDecoder

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("a", pa.int64()),
        pa.field("a_text", pa.string()),
        pa.field("b", pa.int64()),
        pa.field("b_flag", pa.bool_()),
        pa.field("b_text", pa.string()),
    ]
)
ALIASES = {"a_text": "a", "b_flag": "b", "b_text": "b"}


def test_each_value_goes_to_the_column_of_its_type() -> None:
    decoder = EvolvingDecoder("raw.t", SCHEMA, ALIASES, JsonDecoder, adds=True, without=())
    values = [
        b'{"id": 1, "a": 1, "b": 1}',
        b'{"id": 2, "a": "x", "b": 1}',
        b'{"id": 3, "a": 1, "b": true}',
        b'{"id": 4, "a": "x", "b": "y"}',
        b'{"id": 5, "a": []}',
        b'{"a": "x"}',
    ]
    for copy in (decoder, pickle.loads(pickle.dumps(decoder))):
        decoded = copy.decode(pa.array(values, pa.binary()))
        assert {row: error.error_class for row, error in decoded.errors.items()} == {
            4: "wrong_type",
            5: "wrong_type",
        }
        assert [tuple(row.values()) for row in decoded.batch.slice(0, 4).to_pylist()] == [
            (1, 1, None, 1, None, None),
            (2, None, "x", 1, None, None),
            (3, 1, None, None, True, None),
            (4, None, "x", None, None, "y"),
        ]
        wanted = decoded.observed.wanted["raw.t"]
        assert wanted.refused.fields["a"].kinds == {"list", "string"}


def test_which_columns_are_of_the_same_field() -> None:
    assert second_columns(SCHEMA, ALIASES) == {"a_text": "a", "b_flag": "b", "b_text": "b"}
