"""Two tables with the same key: which rows only one of them has, and which columns differ.

One side, what should be, is held in memory; the other comes piece by piece. Null is a value, and so is NaN.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl

Kind = Literal["only_left", "only_right", "different", "duplicated"]
KINDS: tuple[Kind, ...] = ("only_left", "only_right", "different", "duplicated")
_SHOWN = 80
HIDDEN = "(sensitive)"


@dataclass(frozen=True)
class Example:
    """One row that is not as it should be.

    Args:
        kind: `only_left`: missing; `only_right`: should not be there; `different`; `duplicated`.
        key: column → value, for a person.
        columns: column → what should be and what is, for a person; of sensitive columns only that they differ.
        coordinates: of the change that decides, as far as there is one.
    """

    kind: Kind
    key: dict[str, str]
    columns: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    coordinates: str = ""

    def __str__(self) -> str:
        problems = {"only_left": "is missing", "only_right": "should not be there", "duplicated": "is there twice"}
        text = problems.get(self.kind) or "; ".join(
            f"{name} differs" if HIDDEN in pair else f"{name} should be {pair[0]}, is {pair[1]}"
            for name, pair in self.columns.items()
        )
        return f"{named(self.key)}: {text}" + (f" ({self.coordinates})" if self.coordinates else "")


@dataclass
class RowDifference:
    """What a comparison found; `columns` counts the rows in which each differs."""

    compared: int = 0
    counts: dict[Kind, int] = field(
        default_factory=lambda: dict.fromkeys(("only_left", "only_right", "different", "duplicated"), 0)
    )
    columns: dict[str, int] = field(default_factory=dict[str, int])
    examples: list[Example] = field(default_factory=list[Example])

    @property
    def same(self) -> bool:
        """Whether both are the same."""
        return not any(self.counts.values())


@dataclass(frozen=True)
class RowComparison:
    """How to compare, and what may be shown.

    Args:
        key: the key's columns.
        columns: the other columns to compare.
        hidden: columns whose values are never shown.
        shown: examples of each kind at most.
    """

    key: Sequence[str]
    columns: Sequence[str]
    hidden: Collection[str] = ()
    shown: int = 10

    def compare(self, expected: pl.DataFrame, actual: Iterable[pl.DataFrame]) -> RowDifference:
        """Compare what should be (one row for each key, with `_partition` and `_offset`) with what is."""
        difference = RowDifference()
        expected = expected.with_row_index("_at")
        parts = self._parts(expected)
        names = [f"_part_{number}" for number in range(len(parts))]
        index = expected.select(*(part.alias(name) for part, name in zip(parts, names, strict=True)), "_at")
        match_counts = np.zeros(expected.height, np.int64)
        for piece in actual:
            difference.compared += piece.height
            joined = piece.join(
                index,
                left_on=self._parts(piece),
                right_on=names,
                how="left",
                nulls_equal=True,
                maintain_order="left",
            )
            self._stray(difference, joined.filter(pl.col("_at").is_null()))
            matched = joined.filter(pl.col("_at").is_not_null())
            indexes = matched["_at"]
            match_counts += np.bincount(indexes.to_numpy(), minlength=expected.height)
            self._differing(difference, matched, expected, indexes)
        self._record(difference, "only_left", expected.filter(pl.Series(match_counts == 0)))
        self._record(difference, "duplicated", expected.filter(pl.Series(match_counts > 1)))
        return difference

    def _parts(self, rows: pl.DataFrame) -> list[pl.Expr]:
        """The key without NaN, which polars joins with itself only among several rows: null, and that it is NaN."""
        parts: list[pl.Expr] = []
        for name in self.key:
            column = pl.col(name)
            parts += [column.fill_nan(None), column.is_nan()] if rows.schema[name].is_float() else [column]
        return parts

    def _differing(
        self, difference: RowDifference, rows: pl.DataFrame, expected: pl.DataFrame, indexes: pl.Series
    ) -> None:
        differing = {name: rows[name].ne_missing(expected[name].gather(indexes)) for name in self.columns}
        any_differs = np.zeros(rows.height, bool)
        for name, differs in differing.items():
            if number := int(differs.sum()):
                difference.columns[name] = difference.columns.get(name, 0) + number
                any_differs |= differs.to_numpy()
        difference.counts["different"] += int(any_differs.sum())
        for row in np.flatnonzero(any_differs)[: self._room(difference, "different")].tolist():
            expected_row = expected.row(indexes[row], named=True)
            actual_row = rows.row(row, named=True)
            columns = {
                name: (HIDDEN, HIDDEN)
                if name in self.hidden
                else (_short(expected_row[name]), _short(actual_row[name]))
                for name, differs in differing.items()
                if differs[row]
            }
            difference.examples.append(
                Example("different", self.key_shown(actual_row), columns, coordinates_of(expected_row))
            )

    def _stray(self, difference: RowDifference, rows: pl.DataFrame) -> None:
        difference.counts["only_right"] += rows.height
        for row in rows.head(self._room(difference, "only_right")).select(self.key).iter_rows(named=True):
            difference.examples.append(Example("only_right", self.key_shown(row)))

    def _record(self, difference: RowDifference, kind: Kind, rows: pl.DataFrame) -> None:
        difference.counts[kind] += rows.height
        for row in rows.sort(self.key).head(self._room(difference, kind)).iter_rows(named=True):
            difference.examples.append(Example(kind, self.key_shown(row), {}, coordinates_of(row)))

    def _room(self, difference: RowDifference, kind: Kind) -> int:
        return max(0, self.shown - sum(example.kind == kind for example in difference.examples))

    def key_shown(self, row: dict[str, Any]) -> dict[str, str]:
        """A row's key, for a person."""
        return {name: HIDDEN if name in self.hidden else _short(row[name]) for name in self.key}


def named(key: dict[str, str], coordinates: str = "") -> str:
    """A key in one line."""
    shown = ", ".join(f"{name}={value}" for name, value in key.items())
    return f"{shown} ({coordinates})" if coordinates else shown


def coordinates_of(row: dict[str, Any]) -> str:
    """Where in the changelog a row's newest change is."""
    if row.get("_partition") is None or row["_partition"] < 0:
        return ""
    return f"partition {row['_partition']} offset {row['_offset']}"


def _short(value: Any) -> str:
    if isinstance(value, dict) and list(value) == ["epoch", "commit", "sequence"]:
        return "/".join(map(str, value.values()))
    text = repr(value) if isinstance(value, str | bytes) else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
