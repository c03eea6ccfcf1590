"""Times of the source, which only describe a change: one that cannot be read is none."""

from typing import Any

import pyarrow as pa
import pyarrow.compute

from lakehouse.formats.json.text import parse_text

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers

_MILLIS_LIMIT = 2**63 // 1000 - 1


def micros_of_text(text: pa.StringArray) -> pa.Int64Array:
    """ISO 8601; without a zone it is UTC."""
    zoned = pc.if_else(
        pc.match_substring_regex(text, r"(?:[Zz]|[+-]\d\d(?::?\d\d)?)$"),
        text,
        pc.binary_join_element_wise(text, "Z", ""),
    )
    return parse_text(zoned, pa.timestamp("us", "UTC"))[0].view(pa.int64())


def micros_of_millis(millis: pa.Int64Array) -> pa.Int64Array:
    """Milliseconds since the epoch."""
    inside = pc.and_(pc.less_equal(millis, _MILLIS_LIMIT), pc.greater_equal(millis, -_MILLIS_LIMIT))
    return pc.multiply(pc.if_else(inside, millis, pa.scalar(None, pa.int64())), 1000)
