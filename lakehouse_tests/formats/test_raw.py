"""A raw record is a row whatever it holds."""

import pyarrow as pa

from lakehouse.formats.raw import RawDecoder


def test_nothing_is_decoded_and_nothing_is_wrong() -> None:
    decoded = RawDecoder().decode(pa.array([b"\xff", None, b"{"], pa.binary()))
    assert (decoded.batch.num_columns, decoded.errors) == (0, {})
