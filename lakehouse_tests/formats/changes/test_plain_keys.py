"""Kafka keys that are a value and no JSON object."""

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.formats.changes.plain_keys import key_as_object, keys_as_objects

TEXT, NUMBER = pa.field("code", pa.large_string()), pa.field("id", pa.int64())


@given(st.text())
def test_a_text_is_itself_whatever_it_looks_like(text: str) -> None:
    wrapped = key_as_object(text.encode(errors="surrogatepass"), TEXT) if text.isascii() else None
    assert wrapped is None or json.loads(wrapped) == {"code": text}


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_number_is_as_it_was_written(number: int) -> None:
    assert json.loads(key_as_object(str(number).encode(), NUMBER) or b"") == {"id": number}


@pytest.mark.parametrize("key", [b'1,"x":2', b"", b"\xff\x00", b'{"id":1}', b"[1]", b"null", b"1}"])
def test_what_is_no_value_stays_as_it_is(key: bytes) -> None:
    assert key_as_object(key, NUMBER) == key


def test_no_key_stays_none() -> None:
    assert keys_as_objects(pa.array([None, b"7"], pa.binary()), NUMBER).to_pylist() == [None, b'{"id":7}']
    assert key_as_object(b"\xff", TEXT) == b"\xff"
