"""Pieces that were read together stand where they belong."""

import numpy as np
import pyarrow as pa

from lakehouse.formats.arrays import offsets_of, ordered, spread


def test_items_that_were_read_first_by_first_stand_list_by_list() -> None:
    pieces, owners = [pa.array(["a0", "c0"]), pa.array(["a1"])], [np.array([0, 2]), np.array([0])]
    assert ordered(pieces, owners, pa.string()).to_pylist() == ["a0", "a1", "c0"]
    assert ordered([], [], pa.string()).to_pylist() == []
    assert offsets_of(np.array([2, 0, 1])).to_pylist() == [0, 2, 2, 3]


def test_values_stand_at_their_places_and_nulls_elsewhere() -> None:
    pieces, places = [pa.array([1, 2]), pa.array([3])], [np.array([3, 0]), np.array([1])]
    assert spread(pieces, places, 5, pa.int64()).to_pylist() == [2, 3, None, 1, None]
    assert spread([], [], 2, pa.int64()).to_pylist() == [None, None]
