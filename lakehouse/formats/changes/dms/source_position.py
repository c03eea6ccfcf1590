"""Positions of DMS's changes: the stream position, which each source engine writes in its own way.

=============  =========================================  =======================================
PostgreSQL     ``00000002/0A3C9B90``, perhaps with more   the LSN
MySQL          ``mysql-bin-changelog.000024:373``, or .   number of the file, and position in it
others         a whole number                             the number
=============  =========================================  =======================================

Within it, the record's number in its transaction. The full load has none: its commit position is 0, and its time stands
for the position within, so that a later load is newer than an earlier one.
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from lakehouse.formats.changes.debezium.source_position import FILE_SHIFT
from lakehouse.formats.changes.facts import READ, Bools, ChangePositions, Errors, bools, report
from lakehouse.formats.verdict import RecordError

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers

_LSN = re.compile(r"([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})(?:[.:/].*)?")
_BINLOG = re.compile(r"[A-Za-z_][\w-]*\.(\d{1,9})[.:](\d{1,12})(?:[.:].*)?")
_NUMBER = re.compile(r"\d{1,19}")
_LIMIT = 2**63
_NO_POSITION = RecordError("unknown_position", "`metadata.stream-position` is missing, or none that we know")
_NO_TIME = RecordError("unknown_position", "`metadata.timestamp` of a full load is missing, or no time")


def places(
    members: Mapping[str, pa.Array], time: pa.Int64Array, operation: np.ndarray, changes: Bools, errors: Errors
) -> ChangePositions:
    """Positions of the rows in `changes`; a row without one gets an error."""
    # Changes of one transaction often share theirs, so each is read once.
    unique = members["stream-position"].dictionary_encode()
    numbers = [_position(text) for text in unique.dictionary.to_pylist()]
    known = np.array([number is not None for number in [*numbers, None]])
    values = np.array([number or 0 for number in [*numbers, None]], np.int64)
    index = unique.indices.fill_null(len(numbers)).to_numpy()
    loaded = changes & (operation == READ)
    has = np.where(loaded, bools(time.is_valid()), known[index]) & changes
    within = members["transaction-record-id"].fill_null(0).to_numpy()
    report(errors, np.flatnonzero(loaded & ~has), _NO_TIME)
    report(errors, np.flatnonzero(changes & ~loaded & ~has), _NO_POSITION)
    return ChangePositions(
        commit=np.where(loaded, 0, values[index]),
        sequence=np.where(loaded, time.fill_null(0).to_numpy(), within),
        known=has,
    )


def _position(text: str | None) -> int | None:
    text = (text or "").strip('"')
    if match := _LSN.fullmatch(text):
        number = int(match[1], 16) << 32 | int(match[2], 16)
    elif match := _BINLOG.fullmatch(text):
        offset = int(match[2])
        number = int(match[1]) << FILE_SHIFT | offset if offset < 1 << FILE_SHIFT else _LIMIT
    elif _NUMBER.fullmatch(text):
        number = int(text)
    else:
        return None
    return number if number < _LIMIT else None
