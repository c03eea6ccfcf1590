"""What is known of one column at one snapshot: enough to judge and to draw it without its rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lakehouse.contracts.profile.bins import Bins
from lakehouse.declarations import Kind

PROBABILITIES = (0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995)
# How far from the middle half of the values an outlier lies, in widths of that half: Tukey's "far out".
FENCE = 3.0


@dataclass(frozen=True)
class Spread:
    """Where the values of an ordered column lie, as positions on its axis.

    Attributes:
        least: the smallest.
        greatest: the largest.
        mean: their mean.
        quantiles: one for each of `PROBABILITIES`, within a ten-thousandth of its rank.
        bins: how many lie where.
        below: values under the lower fence.
        above: values over the upper fence.
    """

    least: float
    greatest: float
    mean: float
    quantiles: tuple[float, ...]
    bins: Bins
    below: int = 0
    above: int = 0

    def quantile(self, probability: float) -> float:
        """The value below which this share of all values lies; one of `PROBABILITIES`."""
        return self.quantiles[PROBABILITIES.index(probability)]

    @property
    def median(self) -> float:
        """The value in the middle."""
        return self.quantile(0.5)

    @property
    def middle_half(self) -> float:
        """The interquartile range: how wide the middle half of the values is."""
        return self.quantile(0.75) - self.quantile(0.25)

    @property
    def fences(self) -> tuple[float, float] | None:
        """Beyond these a value is an outlier; None where the middle half is one value, which says nothing of others."""
        if self.middle_half == 0:
            return None
        return (
            self.quantile(0.25) - FENCE * self.middle_half,
            self.quantile(0.75) + FENCE * self.middle_half,
        )

    @property
    def outliers(self) -> int:
        """Values beyond the fences."""
        return self.below + self.above


@dataclass(frozen=True)
class ColumnProfile:
    """One column at one snapshot.

    Attributes:
        kind: what its values are.
        rows: of the table.
        missing: nulls.
        odd: NaN, the infinities, and numbers beyond 1e288 or so: they have no place on the axis.
        spread: of an ordered column that has values.
        categories: of text and truth: the most frequent values → rows. Long texts are cut.
    """

    kind: Kind
    rows: int
    missing: int
    odd: int = 0
    spread: Spread | None = None
    categories: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def values(self) -> int:
        """Rows that have a value."""
        return self.rows - self.missing - self.odd

    @property
    def missing_share(self) -> float:
        """Nulls as a share of the rows."""
        return self.missing / self.rows if self.rows else 0.0

    @property
    def others(self) -> int:
        """Values of text that are not among the most frequent."""
        return max(0, self.values - sum(self.categories.values()))
