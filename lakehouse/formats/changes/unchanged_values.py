"""Values that the source did not send, because they are large and have not changed: what stands in their place.

Debezium puts its placeholder where the type allows: as text, in Base64, as the only element of a list or the only entry
of a map; in a list of whole numbers each is a byte of it.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from pyarrow import types as t

from lakehouse.formats.changes.encodings import Encoding
from lakehouse.formats.changes.facts import Bools, bools

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers

_NO_PATH = ""  # the bare text is asked for, wherever it stands


def unavailable(array: Any, declared: Any, encoding: Encoding, path: str) -> Bools | None:
    """Rows of a wire column whose value was not sent, or None if all were."""
    if t.is_list(declared):
        rows = _in_lists(array, declared, encoding, path)
    elif t.is_map(declared):
        rows = _alone(array, array.keys, encoding.placeholders(pa.string(), _NO_PATH)) if len(array) else None
    elif t.is_nested(declared):
        rows = None
    else:
        rows = _in_values(array, encoding.placeholders(declared, path))
    return rows if rows is not None and rows.any() else None


def _in_values(array: pa.Array, texts: pa.Array | None) -> Bools | None:
    if texts is None:
        return None
    matches = pc.equal(array, texts[0]) if len(texts) == 1 else pc.is_in(array, value_set=texts)
    return bools(matches) if matches.true_count else None


def _in_lists(array: Any, declared: Any, encoding: Encoding, path: str) -> Bools | None:
    if not len(array) or t.is_nested(declared.value_type):
        return None
    if t.is_integer(array.type.value_type):
        return _as_bytes(array, encoding.placeholders(pa.string(), _NO_PATH))
    return _alone(array, array.values, encoding.placeholders(declared.value_type, f"{path}[]"))


def _alone(array: Any, elements: pa.Array, texts: pa.Array | None) -> Bools | None:
    """Lists or maps with a single element, which is one of the texts."""
    offsets = array.offsets.to_numpy()
    alone = (np.diff(offsets) == 1) & bools(array.is_valid())
    if texts is None or not alone.any():
        return None
    only = elements.take(pa.array(np.where(alone, offsets[:-1], 0), mask=~alone))
    return bools(pc.is_in(only, value_set=texts)) & alone


def _as_bytes(array: Any, texts: pa.Array | None) -> Bools | None:
    """Lists of numbers that are the bytes of the text."""
    if texts is None:
        return None
    wanted = list(str(texts[0].as_py()).encode())
    rows = np.flatnonzero((np.diff(array.offsets.to_numpy()) == len(wanted)) & bools(array.is_valid()))
    matches = np.zeros(len(array), np.bool_)
    for row in rows.tolist():
        matches[row] = array[row].as_py() == wanted
    return matches
