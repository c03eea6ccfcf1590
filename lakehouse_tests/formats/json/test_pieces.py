"""Pieces of many values: all of them, in order, and small however large the records are."""

import gc

import pyarrow as pa
import pytest

from lakehouse.formats.json.pieces import no_garbage_collection, pieces


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
@pytest.mark.parametrize(("count", "size"), [(0, 1), (1, 9_000_000), (5, 3_000_000), (10_000, 1)])
def test_nothing_is_lost_and_each_piece_is_small(kind: pa.DataType, count: int, size: int) -> None:
    values = pa.array([bytes([n % 256]) * size for n in range(count)], kind)
    cut = list(pieces(values))
    assert [start for start, _ in cut] == [sum(len(piece) for _, piece in cut[:n]) for n in range(len(cut))]
    assert [value for _, piece in cut for value in piece.to_pylist()] == values.to_pylist()
    assert all(len(piece) == 1 or piece.nbytes <= 8 * 1024 * 1024 for _, piece in cut)
    assert {piece.type for _, piece in cut} <= {pa.binary()}


def test_garbage_is_collected_again_afterwards() -> None:
    assert gc.isenabled()
    with no_garbage_collection():
        assert not gc.isenabled()
    assert gc.isenabled()
