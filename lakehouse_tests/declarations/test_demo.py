"""The demo's declarations hold for the real data: types, nulls, keys and every rule."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pyarrow
import pytest
from pandera.api.checks import Check
from polars.testing import assert_series_equal

from lakehouse.declarations import ByField, Declarations, arrow_schema, load_declarations
from lakehouse.declarations.columns.column import Column
from lakehouse.demo.sources import flights, reference
from lakehouse_tests.fixtures.demo_declarations import demo_declarations

# Broken by the real data, and declared as warnings: column → rows.
WARNINGS = {("raw.weather", "wind_speed"): 1}
MISSING = {("raw.planes", "year"): 70}

RULES: dict[str, Callable[..., pl.Expr]] = {
    "greater_than": lambda c, min_value: c > min_value,
    "greater_than_or_equal_to": lambda c, min_value: c >= min_value,
    "less_than_or_equal_to": lambda c, max_value: c <= max_value,
    "isin": lambda c, allowed_values: c.is_in(list(allowed_values)),
    "str_matches": lambda c, pattern: c.str.contains(pattern),
    "str_length": lambda c, min_value, max_value=None, exact_value=None: c.str.len_chars() >= min_value,
}


@pytest.fixture(scope="module")
def declared() -> Declarations:
    return load_declarations([demo_declarations()])


@pytest.fixture(scope="module")
def frames() -> dict[str, pl.DataFrame]:
    named = {"raw.flights": flights()}
    return named | {f"raw.{name}": reference(name) for name in ("weather", "planes", "airports", "airlines")}


def breaches(frame: pl.DataFrame, column: Column, check: Check) -> int:
    statistics: dict[str, Any] = check.statistics or {}
    if check.name == "str_matches":
        statistics = {"pattern": str(statistics["pattern"])}
    return frame.filter(~RULES[str(check.name)](pl.col(column.name), **statistics)).height


@pytest.mark.parametrize("name", ["raw.flights", "raw.weather", "raw.planes", "raw.airports", "raw.airlines"])
class TestRealData:
    def test_fits_the_types_and_nulls(self, name: str, declared: Declarations, frames: dict[str, pl.DataFrame]) -> None:
        frame, table = frames[name], declared.tables[name].without_coordinates()
        assert frame.columns == [column.name for column in table.columns]
        nulls = {column for column in frame.columns if frame[column].null_count()}
        assert nulls == {column.name for column in table.columns if not column.required}
        for field in arrow_schema(table):
            if pyarrow.types.is_integer(field.type) or pyarrow.types.is_floating(field.type):
                kind = pl.Int32 if pyarrow.types.is_integer(field.type) else pl.Float64
                series = frame[field.name]
                assert_series_equal(series.cast(kind).cast(series.dtype), series)
            elif pyarrow.types.is_timestamp(field.type):
                assert frame[field.name].str.to_datetime("%Y-%m-%dT%H:%M:%SZ").null_count() == 0
            else:
                assert frame[field.name].dtype == pl.String

    def test_is_identified_by_the_key(self, name: str, declared: Declarations, frames: dict[str, pl.DataFrame]) -> None:
        key = declared.tables[name].key
        assert key
        assert not frames[name].select(key).is_duplicated().any()

    def test_keeps_every_blocking_rule(
        self, name: str, declared: Declarations, frames: dict[str, pl.DataFrame]
    ) -> None:
        for column in declared.tables[name].columns:
            for check in column.checks:
                expected = WARNINGS.get((name, column.name), 0)
                assert breaches(frames[name], column, check) <= expected, (column.name, str(check))
                assert (column.severity == "warning") == bool(expected)

    def test_breaks_what_is_a_warning(self, name: str, declared: Declarations, frames: dict[str, pl.DataFrame]) -> None:
        for column in declared.tables[name].columns:
            broken = sum(breaches(frames[name], column, check) for check in column.checks)
            assert broken == WARNINGS.get((name, column.name), 0)
            if column.expected:
                assert frames[name][column.name].null_count() == MISSING[name, column.name]

    def test_is_documented(self, name: str, declared: Declarations, frames: dict[str, pl.DataFrame]) -> None:
        assert all(column.doc for column in declared.tables[name].columns)


def test_every_record_type_of_the_demo_has_its_table(declared: Declarations) -> None:
    route = declared.streams["reference"].route
    assert isinstance(route, ByField)
    assert (route.field, dict(route.routes)) == (
        "record_type",
        {name: f"raw.{name}" for name in ("weather", "planes", "airports", "airlines")},
    )
    assert declared.streams["flights"].tables == ("raw.flights",)
