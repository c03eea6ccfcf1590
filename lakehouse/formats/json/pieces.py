"""Small pieces of many values."""

import gc
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pyarrow as pa
from pyarrow import types as t

# As many records as stay in the processor's cache between parsing and their columns: half again as fast as 50,000.
_RECORDS = 4096
_BYTES = 8 * 1024 * 1024


def pieces(values: pa.BinaryArray | pa.LargeBinaryArray) -> Iterator[tuple[int, pa.BinaryArray]]:
    """Cuts values into pieces, each with its place; they stay small however large the records are."""
    start = 0
    while start < len(values):
        piece = values.slice(start, _RECORDS)
        while len(piece) > 1 and piece.nbytes > _BYTES:
            piece = piece.slice(0, len(piece) // 2)
        yield start, piece.cast(pa.binary()) if t.is_large_binary(piece.type) else piece
        start += len(piece)


@contextmanager
def no_garbage_collection() -> Generator[None]:
    """Records make no cycles; looking for some among millions of short-lived tuples costs a tenth of decoding."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
