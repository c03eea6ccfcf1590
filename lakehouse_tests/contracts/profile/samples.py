"""Statistics computed the slow and plain way, from all values: what Spark's answers are compared with."""

import math
from collections import Counter
from collections.abc import Sequence

from lakehouse.contracts.profile.bins import Bins, grid_for
from lakehouse.contracts.profile.statistics import PROBABILITIES, ColumnProfile, Spread
from lakehouse.declarations import Kind


def statistics_of(given: Sequence[float | None], kind: Kind = "number") -> ColumnProfile:
    """Statistics of an ordered column."""
    values = sorted(float(value) for value in given if value is not None)
    missing = len(given) - len(values)
    if not values:
        return ColumnProfile(kind, len(given), missing)
    quantiles = tuple(values[max(0, math.ceil(p * len(values)) - 1)] for p in PROBABILITIES)
    whole = all(value == math.floor(value) for value in values)
    grid = grid_for(quantiles[0], quantiles[PROBABILITIES.index(0.5)], quantiles[-1], whole=whole)
    bins = binned(values, grid)
    bare = Spread(values[0], values[-1], sum(values) / len(values), quantiles, bins)
    low, high = bare.fences or (-math.inf, math.inf)
    below, above = sum(value < low for value in values), sum(value > high for value in values)
    spread = Spread(bare.least, bare.greatest, bare.mean, quantiles, bins, below, above)
    return ColumnProfile(kind, len(given), missing, spread=spread)


def binned(values: Sequence[float], grid: Bins) -> Bins:
    """Values counted in the bins of a grid."""
    return grid.filled(Counter(math.floor(value / grid.width) for value in values))


def texts_of(given: Sequence[str | None], most: int = 200) -> ColumnProfile:
    """Statistics of a column of texts."""
    counts = Counter(text for text in given if text is not None)
    return ColumnProfile("text", len(given), given.count(None), categories=dict(counts.most_common(most)))
