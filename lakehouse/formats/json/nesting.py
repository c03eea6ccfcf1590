"""How deeply a record may be nested.

Every JSON parser has a bound (Spark's is 1,000), and beyond it they crash, fail or differ. Ours is a rule of the
format, checked before the parser sees the record.
"""

import re

import numpy as np

MAX_DEPTH = 250

_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)


def may_be_deep(value: bytes) -> bool:
    """A quick upper bound: whether so many brackets open that the record could be too deep."""
    return len(value) > MAX_DEPTH and value.count(b"{") + value.count(b"[") > MAX_DEPTH


def too_deep(value: bytes) -> bool:
    """Whether a record nests deeper than `MAX_DEPTH`; brackets within strings do not count."""
    if not may_be_deep(value):
        return False
    brackets = np.frombuffer(_STRINGS.sub(b"", value), dtype=np.uint8)
    opening = np.isin(brackets, np.frombuffer(b"{[", dtype=np.uint8)).astype(np.int32)
    closing = np.isin(brackets, np.frombuffer(b"}]", dtype=np.uint8)).astype(np.int32)
    depths = np.cumsum(opening - closing)
    return len(depths) > 0 and int(depths.max()) > MAX_DEPTH
