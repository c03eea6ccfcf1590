"""Two tables with the same key are compared by value: null is one, and so is NaN, with whatever bits."""

import numpy as np
import polars as pl
import pytest

from lakehouse.steps.cdc.verify.compare import RowComparison

NANS = np.array([0x7FF8000000000000, 0xFFF8000000000000, 0x7FF8000000000001], np.uint64).view(np.float64)


FLOATS = [pl.Float64, pl.Float32]


@pytest.mark.parametrize("nan", NANS)
@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("numbers", [[], [1.0], [1.0, None, -0.0]])
@pytest.mark.parametrize("key", [("x",), ("x", "n")])
def test_a_key_that_is_not_a_number_is_itself(
    key: tuple[str, ...], numbers: list[float | None], kind: type[pl.DataType], nan: float
) -> None:
    """Also where it is the only key that a sample has."""

    def rows(value: float) -> pl.DataFrame:
        frame = pl.DataFrame({"x": pl.Series([*numbers, value], dtype=pl.Float64)})
        return frame.select(pl.col("x").cast(kind), n=pl.lit(1), value=pl.int_range(pl.len()))

    comparison = RowComparison(key, ("value",))
    expected = rows(NANS[0]).with_columns(_partition=pl.lit(0), _offset=pl.lit(0))
    assert comparison.compare(expected, [rows(nan)]).same
    changed = rows(nan).with_columns(value=-1)
    assert comparison.compare(expected, [changed]).counts["different"] == expected.height
    assert comparison.compare(expected, [rows(2.0)]).counts["only_left"] == 1
