"""The demo's own promises at the end of `lakehouse run`: every flight of 2013 is accounted for."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute

from lakehouse.cli.context import Context
from lakehouse.orchestration.resources import Lake

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers


def show_demo(context: Context, lake: Lake, rows: Mapping[str, int | None]) -> None:
    """Print a line each for the stream of flights, their mirror and the training table; nothing without the demo.

    Args:
        context: of the command.
        lake: where they are.
        rows: table → rows that a reader sees, for those that exist.
    """
    if not (context.settings.kafka.local and context.settings.demo):
        return
    if {"raw.flights", "quarantine.flights"} <= rows.keys():
        context.tell(flights_line(lake))
    if {"changelog.flights", "mirror.flights"} <= rows.keys():
        context.tell(mirror_line(lake))
    if {"raw.flights", "features.training"} <= rows.keys():
        context.tell(training_line(rows))


def flights_line(lake: Lake) -> str:
    """All flights of 2013 are here, and what is in quarantine was meant to be."""
    from lakehouse.demo import BROKEN_FLIGHTS  # it imports polars, which only the demo needs

    flights = lake.arrow("raw.flights", columns=["year"], where="year = 2013").num_rows
    kept = lake.arrow("quarantine.flights", columns=["value"])["value"].to_pylist()
    on_purpose = {record.value for record in BROKEN_FLIGHTS}
    lost = sum(value not in on_purpose for value in kept)
    return (
        f"{flights + lost:,} flights of 2013 = {flights:,} rows in raw.flights + {lost:,} in quarantine"
        f" (the other {len(kept) - lost} there were broken on purpose)"
    )


def mirror_line(lake: Lake) -> str:
    """Every flight that was ever scheduled is in the mirror, unless it was cancelled: flights, not messages of them."""
    changes = lake.arrow("changelog.flights", columns=["operation", "key"], where="operation in ('insert', 'delete')")
    scheduled, cancelled = (_flights_with(changes, operation) for operation in ("insert", "delete"))
    rows = lake.arrow("mirror.flights", columns=["carrier"]).num_rows
    sign = "=" if scheduled == rows + cancelled else "≠"
    return (
        f"{scheduled:,} flights scheduled {sign} {rows:,} rows in mirror.flights + {cancelled:,} cancelled and deleted"
    )


def training_line(rows: Mapping[str, int | None]) -> str:
    """Every flight is one row of the training table: joining it with what was known lost none and doubled none."""
    flights, joined = (rows[name] or 0 for name in ("raw.flights", "features.training"))
    return (
        f"{flights:,} flights in raw.flights {'=' if flights == joined else '≠'} {joined:,} rows in features.training"
    )


def _flights_with(changes: pa.Table, operation: str) -> int:
    keys = changes.filter(pc.equal(changes["operation"], operation)).select(["key"]).flatten()
    return keys.group_by(keys.column_names).aggregate([]).num_rows
