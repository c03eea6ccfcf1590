"""Positions of Debezium's changes in the source's log, by connector.

PostgreSQL
    `source.sequence` is the JSON of [LSN of the last commit sent before, own LSN]: commit position and position within.
    The first is null before the first commit that the connector saw: then the own LSN stands for both, as it does for
    the commit position of a message without a sequence (of old connectors). That is right for every key, which is all
    that a mirror asks: a row is locked until its transaction commits, so the next change of it has an LSN beyond that
    commit; and it is right beside messages that have a sequence, for the same reason.
MySQL, MariaDB
    Number of the binlog file, and the position in it, in one number; the row of the event within. After a failover to a
    replica the files count anew: raise the epoch.

A snapshot read has commit position 0, and the log's position at the time (or else the source's time) within.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from lakehouse.formats.changes.facts import READ, Bools, ChangePositions, Errors, Ints, bools, report
from lakehouse.formats.verdict import RecordError

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers

CONNECTORS = ("postgresql", "mysql", "mariadb")
FILE_SHIFT = 40
"""A binlog file is at most 1 GiB, but for one huge transaction; file numbers have 6 digits or some more."""
_FILE_LIMIT = 1 << (62 - FILE_SHIFT)
_NO_POSITION = RecordError("unknown_position", "`source` has no position in the source's log that can be read")


def places(source: Mapping[str, pa.Array], operation: np.ndarray, data: Bools, errors: Errors) -> ChangePositions:
    """Positions of the rows in `data`; a row without one gets an error."""
    count = len(operation)
    positions = ChangePositions.none(count)
    connectors = pc.index_in(source["connector"], value_set=pa.array(CONNECTORS))
    codes = connectors.fill_null(-1).to_numpy()
    for row in np.flatnonzero(data & (codes < 0)).tolist():
        errors.setdefault(row, unknown_connector(source["connector"][row].as_py()))
    for selected, read in ((data & (codes == 0), _postgresql), (data & (codes > 0), _mysql)):
        rows = np.flatnonzero(selected)
        if len(rows):
            commit, sequence, known = read(_rows_of(source, rows), operation[rows] == READ)
            positions.commit[rows], positions.sequence[rows], positions.known[rows] = commit, sequence, known
    report(errors, np.flatnonzero(data & (codes >= 0) & ~positions.known), _NO_POSITION)
    return positions


def unknown_connector(name: str | None) -> RecordError:
    """Nobody has told us how to order this source's changes."""
    return RecordError(
        "unknown_position",
        f"the connector {name or '(none)'} gives no position that we know; flatten its messages and declare Flat()",
    )


def _rows_of(source: Mapping[str, pa.Array], rows: Ints) -> Mapping[str, pa.Array]:
    if len(rows) == len(source["connector"]):
        return source
    indices = pa.array(rows)
    return {name: source[name].take(indices) for name in ("sequence", "lsn", "file", "pos", "row", "ts_ms", "ts_us")}


def _postgresql(source: Mapping[str, pa.Array], reads: Bools) -> tuple[Ints, Ints, Bools]:
    lsn, has_lsn = _numbers(source["lsn"])
    commit, sequence, known = _sequences(source["sequence"])
    plain = ~bools(source["sequence"].is_valid()) & has_lsn  # one that cannot be read is no reason to guess
    commit, sequence = np.where(plain, lsn, commit), np.where(plain, 0, sequence)
    known |= plain
    if reads.any():
        commit, sequence, known = _snapshot(source, reads, lsn, has_lsn, (commit, sequence, known))
    return commit, sequence, known


def _sequences(texts: pa.StringArray) -> tuple[Ints, Ints, Bools]:
    """`["commit","own"]`, either of them as text; where the first is null, the second stands for it."""
    count = len(texts)
    commit, own, known = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, np.bool_)
    usual = pc.match_substring_regex(texts, r'^\[\s*(?:null|"?[0-9]{1,18}"?)\s*,\s*"?[0-9]{1,18}"?\s*\]$')
    rows = np.flatnonzero(bools(usual))
    if len(rows):
        selected = texts if len(rows) == count else texts.take(pa.array(rows))
        halves = pc.ascii_trim(pc.split_pattern(selected, ",").values, characters='[]" \t\r\n')
        numbers = pc.if_else(pc.equal(halves, "null"), "-1", halves).cast(pa.int64()).to_numpy()
        before, own_numbers = numbers[0::2], numbers[1::2]
        commit[rows], own[rows], known[rows] = np.where(before < 0, own_numbers, before), own_numbers, True
    return commit, own, known


def _mysql(source: Mapping[str, pa.Array], reads: Bools) -> tuple[Ints, Ints, Bools]:
    files = pc.replace_substring_regex(source["file"], r"^.*\.([0-9]{1,9})$", r"\1")
    files = pc.if_else(pc.match_substring_regex(files, "^[0-9]{1,9}$"), files, pa.scalar(None, pa.string()))
    number, has_file = _numbers(files.cast(pa.int64()))
    pos, has_pos = _numbers(source["pos"])
    row, _ = _numbers(source["row"])
    known = has_file & has_pos & (number < _FILE_LIMIT) & (pos < 1 << FILE_SHIFT)
    commit = np.where(known, (number << FILE_SHIFT) | pos, 0)
    if reads.any():
        return _snapshot(source, reads, commit, known, (commit, row, known))
    return commit, row, known


def _snapshot(
    source: Mapping[str, pa.Array],
    reads: Bools,
    log_position: Ints,
    has_position: Bools,
    logged: tuple[Ints, Ints, Bools],
) -> tuple[Ints, Ints, Bools]:
    commit, sequence, known = logged
    millis, has_millis = _numbers(source["ts_ms"])
    time = np.where(has_millis & (millis < 2**53), millis * 1000, 0)
    return (
        np.where(reads, 0, commit),
        np.where(reads, np.where(has_position, log_position, time), sequence),
        np.where(reads, has_position | (time > 0), known),
    )


def _numbers(array: pa.Int64Array) -> tuple[Ints, Bools]:
    """Whole numbers from 0 on, and where there is one."""
    known = np.ones(len(array), np.bool_) if not array.null_count else bools(array.is_valid())
    numbers = (array.fill_null(0) if array.null_count else array).to_numpy()
    known = known & (numbers >= 0)
    return np.where(known, numbers, 0), known
