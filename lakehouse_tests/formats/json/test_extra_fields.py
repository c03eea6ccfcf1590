"""Fields that no table has are counted, in a sample, and what is no record is passed over."""

import pyarrow as pa

from lakehouse.formats.json import JsonDecoder, RoutedDecoder
from lakehouse.formats.json.extra_fields import SAMPLE, extra_fields

X = pa.schema([("x", pa.int32())])


def test_fields_at_the_top_level_are_counted() -> None:
    values = [b'{"x":1,"y":{"z":2}}', b'{"y":null,"w":1}', b"{", None, b"[1]", b"\xff", b'{"x":1}', b"[" * 5000]
    assert extra_fields(pa.array(values, pa.binary()), {"x"}).extra == {"y": 2, "w": 1}


def test_no_more_than_a_sample_is_looked_at() -> None:
    assert extra_fields(pa.array([b'{"y":1}'] * 1000, pa.binary()), {"x"}).extra == {"y": SAMPLE}


def test_the_decoders_know_aliases_and_the_field_that_chooses() -> None:
    decoder = JsonDecoder(X, {"x": "the x"})
    assert decoder.decode(pa.array([b'{"the x":1,"x":2}'])).observed.extra == {"x": 1}
    routed = RoutedDecoder("kind", {"a": X, "b": pa.schema([("y", pa.int32())])})
    assert routed.decode(pa.array([b'{"kind":"a","x":1,"y":2,"v":3}'])).observed.extra == {"v": 1}
