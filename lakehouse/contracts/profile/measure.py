"""Measures any number of columns of a frame in two passes over it, each of which gives the driver a single row.

The first finds where values lie and which texts are frequent; from that the bins and fences of each ordered column are
chosen, and the second pass, which a table of texts alone does without, counts by them.
"""

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from lakehouse.contracts.profile.axis import position_sql
from lakehouse.contracts.profile.bins import REACH, grid_for
from lakehouse.contracts.profile.statistics import PROBABILITIES, ColumnProfile, Spread
from lakehouse.declarations import ORDERED, Column, Kind, kind_of
from lakehouse.engines.spark.naming import quoted_name

# Most frequent texts that are kept, and texts that are told apart to find them: up to three quarters of these, the
# counts are exact; beyond, the frequent ones are found all the same, by a sketch that errs upwards.
CATEGORIES = 200
_TRACKED = 16_384
_TEXT_LENGTH = 100
_TRACKED_BINS = 4 * REACH


def measure(frame: DataFrame, columns: Mapping[str, Column]) -> dict[str, ColumnProfile]:
    """Measure columns.

    Args:
        frame: a table at one snapshot, by id: Spark looks a name up anew in each pass.
        columns: name → declaration, of columns that have a distribution. One that the frame lacks, since nothing was
            written after it was added, is missing in every row.
    """
    kinds: dict[str, Kind] = {n: kind for n, column in columns.items() if (kind := kind_of(column.type)) is not None}
    present: dict[str, Kind] = {name: kind for name, kind in kinds.items() if name in frame.columns}
    first = _row(frame, {"rows": "count(*)", **_entries(present, _first_pass)})
    ordered: dict[str, Kind] = {n: kind for n, kind in present.items() if kind in ORDERED and first[f"{n}_quantiles"]}
    grids = {name: _grid(first, name, kind) for name, kind in ordered.items()}
    second = _row(frame, _entries(ordered, lambda name, kind: _second_pass(name, kind, grids[name]))) if grids else {}
    rows = int(first["rows"])
    return {
        name: _profile(rows, name, kind, first, _spread(grids[name], first, second, name) if name in grids else None)
        if name in present
        else ColumnProfile(kind, rows, missing=rows)
        for name, kind in kinds.items()
    }


def _row(frame: DataFrame, expressions: Mapping[str, str]) -> dict[str, Any]:
    [row] = frame.agg(*(sql.expr(text).alias(name) for name, text in expressions.items())).collect()
    return row.asDict()


def _entries(kinds: Mapping[str, Kind], make: Callable[[str, Kind], dict[str, str]]) -> dict[str, str]:
    return {f"{name}_{label}": text for name, kind in kinds.items() for label, text in make(name, kind).items()}


def _first_pass(name: str, kind: Kind) -> dict[str, str]:
    column = quoted_name(name)
    if kind not in ORDERED:
        text = f"left(CAST({column} AS STRING), {_TEXT_LENGTH})"
        top = f"approx_top_k({text}, {CATEGORIES}, {_TRACKED}) FILTER (WHERE {column} IS NOT NULL)"
        return {"present": f"count({column})", "top": top}
    position = position_sql(column, kind)
    probabilities = ", ".join(f"{p}D" for p in PROBABILITIES)
    return {
        "present": f"count({column})",
        "placed": f"count({position})",
        "least": f"min({position})",
        "greatest": f"max({position})",
        "mean": f"avg({position})",
        "quantiles": f"percentile_approx({position}, array({probabilities}), 10000)",
        "broken": f"count_if({position} != floor({position}))",
    }


def _grid(first: Mapping[str, Any], name: str, kind: Kind) -> Spread:
    """What the first pass says of an ordered column, with bins that are still empty."""
    quantiles = tuple(float(q) for q in first[f"{name}_quantiles"])
    whole = kind == "date" or first[f"{name}_broken"] == 0
    low, middle, high = quantiles[0], quantiles[PROBABILITIES.index(0.5)], quantiles[-1]
    return Spread(
        least=float(first[f"{name}_least"]),
        greatest=float(first[f"{name}_greatest"]),
        mean=float(first[f"{name}_mean"]),
        quantiles=quantiles,
        bins=grid_for(low, middle, high, whole=whole),
    )


def _second_pass(name: str, kind: Kind, grid: Spread) -> dict[str, str]:
    position, bins = position_sql(quoted_name(name), kind), grid.bins
    # In doubles up to the end: what lies far out would overflow a number of a bin.
    inside = f"least(greatest(floor({position} / {bins.width!r}D), {bins.lowest - 1}D), {bins.highest + 1}D)"
    number = f"CAST({inside} AS BIGINT)"
    counted = f"approx_top_k({number}, {2 * REACH + 3}, {_TRACKED_BINS}) FILTER (WHERE {position} IS NOT NULL)"
    if grid.fences is None:
        return {"bins": counted}
    low, high = grid.fences
    return {
        "bins": counted,
        "below": f"count_if({position} < {low!r}D)",
        "above": f"count_if({position} > {high!r}D)",
    }


def _spread(grid: Spread, first: Mapping[str, Any], second: Mapping[str, Any], name: str) -> Spread:
    counts = {int(entry["item"]): int(entry["count"]) for entry in second[f"{name}_bins"]}
    bins = grid.bins.filled(counts)
    assert bins.total == first[f"{name}_placed"], "all bins are tracked, so every value is counted"
    return Spread(
        grid.least,
        grid.greatest,
        grid.mean,
        grid.quantiles,
        bins,
        below=int(second.get(f"{name}_below") or 0),
        above=int(second.get(f"{name}_above") or 0),
    )


def _profile(rows: int, name: str, kind: Kind, first: Mapping[str, Any], spread: Spread | None) -> ColumnProfile:
    present = int(first[f"{name}_present"])
    if kind in ORDERED:
        return ColumnProfile(kind, rows, rows - present, present - int(first[f"{name}_placed"]), spread)
    frequencies = {str(entry["item"]): int(entry["count"]) for entry in first[f"{name}_top"] or ()}
    frequent = dict(sorted(frequencies.items(), key=lambda entry: (-entry[1], entry[0])))
    return ColumnProfile(kind, rows, rows - present, categories=frequent)
