"""Times of the source in microseconds; what cannot be read is no time."""

import pyarrow as pa

from lakehouse.formats.changes.times import micros_of_millis, micros_of_text


def test_a_text_without_a_zone_is_utc() -> None:
    texts = pa.array(["1970-01-01T00:00:01", "1970-01-01T01:00:01+01:00", "1970-01-01T00:00:01Z", "noon", None])
    assert micros_of_text(texts).to_pylist() == [1_000_000, 1_000_000, 1_000_000, None, None]


def test_milliseconds_that_do_not_fit_are_no_time() -> None:
    millis = pa.array([1, -1, 2**63 - 1, -(2**63), None], pa.int64())
    assert micros_of_millis(millis).to_pylist() == [1_000, -1_000, None, None, None]
