"""Reads Avro's bytes for many values at once: one position each, moved together by numpy.

Positions never leave a value's own bytes. What cannot be read marks its row, and the rest goes on; a marked row reads
nothing more, so that nothing depends on the bytes behind a mistake.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakehouse.formats.verdict import RecordError

Longs = npt.NDArray[np.int64]
_PADDING = 10  # as much as the longest number: it may be read, and is then found to be beyond the end

TRUNCATED = RecordError("not_avro", "the record ends before its schema does")


class Batch:
    """The bytes of some records, and what was wrong with them."""

    def __init__(self, values: pa.BinaryArray) -> None:
        """Takes the bytes of each row; a null counts as no bytes."""
        offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values) + 1]
        first, last = (int(offsets[0]), int(offsets[-1])) if len(offsets) else (0, 0)
        self.data = np.zeros(last - first + _PADDING, np.uint8)
        if last > first:
            self.data[: last - first] = np.frombuffer(values.buffers()[2], np.uint8)[first:last]
        self.starts = offsets[:-1].astype(np.int64) - first
        self.ends = offsets[1:].astype(np.int64) - first
        self.failed = np.zeros(len(values), np.bool_)
        self.errors: dict[int, RecordError] = {}

    def refuse(self, errors: Mapping[int, RecordError]) -> None:
        """Mark rows that are not to be read."""
        self.errors.update(errors)
        self.failed[list(errors)] = True

    def cursor(self, rows: Longs, skip: int = 0) -> "Cursor":
        """A cursor over some rows, which stands behind the first few bytes of each."""
        ends = self.ends[rows]
        return Cursor(self, rows, np.minimum(self.starts[rows] + skip, ends), ends)


class Cursor:
    """Where to read on in each of some values. `rows` says which record each value belongs to."""

    def __init__(self, batch: Batch, rows: Longs, position: Longs, end: Longs) -> None:
        self.batch, self.rows, self.position, self.end = batch, rows, position, end

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, chosen: Longs) -> "Cursor":
        """A cursor over some of the values; `put` brings back how far it came."""
        return Cursor(self.batch, self.rows[chosen], self.position[chosen], self.end[chosen])

    def put(self, chosen: Longs, part: "Cursor") -> None:
        """Go on where a cursor over some of the values has ended."""
        self.position[chosen] = part.position

    def fail(self, chosen: Longs, error: RecordError) -> None:
        """Mark the rows of some values; the first reason counts."""
        self.position[chosen] = self.end[chosen]
        rows = self.rows[chosen]
        for row in rows[~self.batch.failed[rows]].tolist():
            self.batch.errors.setdefault(row, error)
        self.batch.failed[rows] = True

    @property
    def alive(self) -> npt.NDArray[np.bool_]:
        """Whose rows are not marked."""
        return ~self.batch.failed[self.rows]

    def long(self) -> Longs:
        """Variable-length zig-zag numbers of up to 64 bits."""
        data, position = self.batch.data, self.position
        byte = data[position]
        value = (byte & 0x7F).astype(np.uint64)
        position += 1
        more = np.flatnonzero(byte & 0x80)
        for shift in range(7, 70, 7):
            if not more.size:
                break
            byte = data[position[more]]
            position[more] += 1
            value[more] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
            if shift == 63 and (long := more[byte > 1]).size:
                self.fail(long, RecordError("not_avro", "a number of more than 64 bits"))
            more = more[byte & 0x80 != 0]
        self._within()
        return (value >> np.uint64(1)).view(np.int64) ^ -(value & np.uint64(1)).view(np.int64)

    def number(self, dtype: npt.DTypeLike) -> npt.NDArray[np.generic]:
        """Little-endian numbers of a fixed size."""
        kind = np.dtype(dtype).newbyteorder("<")
        return self.bytes_of_size(kind.itemsize).view(kind).reshape(-1)

    def bytes_of_size(self, size: int) -> npt.NDArray[np.uint8]:
        """So many bytes of each value, a row for each; zeros where they are not there."""
        short = self.end - self.position < size
        if short.any():
            self.fail(np.flatnonzero(short), TRUNCATED)
        rows = np.zeros((len(self), size), np.uint8)
        if size and not short.all():
            whole = np.flatnonzero(~short)
            windows = np.lib.stride_tricks.sliding_window_view(self.batch.data, size)
            rows[whole] = windows[self.position[whole]]
            self.position[whole] += size
        return rows

    def fixed(self, size: int) -> pa.BinaryArray:
        """So many bytes of each value, however many a schema says; none where they are not there."""
        short = np.flatnonzero(self.end - self.position < size)
        lengths = np.full(len(self), size, np.int64)
        if short.size:
            self.fail(short, TRUNCATED)
            lengths[short] = 0
        starts = self.position.copy()
        self.position += lengths
        return gathered(self.batch.data, starts, lengths)

    def lengths(self) -> tuple[Longs, Longs]:
        """Where the bytes of strings begin, and how many there are; the position is behind them."""
        length = self.long()
        wrong = np.flatnonzero((length < 0) | (length > self.end - self.position))
        if wrong.size:
            self.fail(wrong, TRUNCATED)
            length[wrong] = 0
        starts = self.position.copy()
        self.position += length
        return starts, length

    def skip_bytes(self, count: Longs | int) -> None:
        """Pass over so many bytes."""
        self.position += count
        self._within()

    def binaries(self) -> pa.BinaryArray:
        """Bytes with their length in front."""
        return gathered(self.batch.data, *self.lengths())

    def _within(self) -> None:
        beyond = np.flatnonzero(self.position > self.end)
        if beyond.size:
            self.fail(beyond, TRUNCATED)


def gathered(data: npt.NDArray[np.uint8], starts: Longs, lengths: Longs) -> pa.BinaryArray:
    """Stretches of some bytes as an array."""
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    places = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data[places])]
    return pa.Array.from_buffers(pa.binary(), len(starts), buffers)
