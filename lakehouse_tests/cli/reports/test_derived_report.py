"""What the report of a run says of vintages and plots."""

import dagster as dg
import pytest

from lakehouse.cli.reports.derived_report import computed_from, plots, vintages
from lakehouse.cli.reports.outcome import RunOutcome
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.derived.statement import DeriveStatement

MONDAY, TUESDAY = "2026-01-05", "2026-01-06"


def vintage_lines(*tables: tuple[str, int]) -> list[str]:
    """The lines for tables of a date and a parameter each."""
    seals: dict[str, Seal] = {}
    statements: dict[str, DeriveStatement] = {}
    for number, (day, least) in enumerate(tables):
        name = f"mart.t{number}"
        attempt = Attempt("run", f"derive:{name}", runtime_date=day)
        seals[name] = Seal.of(attempt, "derive", statement={}, previous=None)
        statements[name] = DeriveStatement("full", 1, 1, parameters={"least": least})
    return vintages(seals, statements)


def test_one_vintage_is_one_line() -> None:
    line = f"All 2 derived tables are of runtime date {MONDAY}, computed with least = 1"
    assert vintage_lines((MONDAY, 1), (MONDAY, 1)) == [line]


@pytest.mark.parametrize("other", [(TUESDAY, 1), (MONDAY, 2)])
def test_another_date_or_another_parameter_is_a_line_that_names_the_tables(other: tuple[str, int]) -> None:
    lines = vintage_lines((MONDAY, 1), other, (MONDAY, 1))
    assert [line.rpartition(": ")[2] for line in lines] == ["mart.t0, mart.t2", "mart.t1"]


def test_a_check_with_a_picture_has_an_address_and_another_has_none() -> None:
    def check(**metadata: dg.MetadataValue) -> dg.AssetCheckEvaluation:
        return dg.AssetCheckEvaluation(dg.AssetKey("x"), "x", passed=True, metadata=metadata)

    picture = dg.MetadataValue.md("![years](data:image/png;base64,AAAA)")
    addresses = plots({("raw.planes", "histogram_year"): check(plot=picture), ("raw.planes", "other"): check()})
    assert addresses == ["http://127.0.0.1:3000/assets/raw/planes?view=checks&checkDetail=histogram_year"]


def test_an_input_whose_check_failed_is_named_beside_what_was_computed_from_it() -> None:
    def check(table: str, name: str, **more: object) -> dg.AssetCheckEvaluation:
        return dg.AssetCheckEvaluation(dg.AssetKey(table.split(".")), name, metadata={}, **more)  # pyright: ignore[reportArgumentType]

    outcome = RunOutcome()
    for table, name, passed, severity in (
        ("raw.a", "unique_key", False, dg.AssetCheckSeverity.ERROR),
        ("raw.a", "contract", False, dg.AssetCheckSeverity.ERROR),
        ("raw.a", "freshness", True, dg.AssetCheckSeverity.ERROR),
        ("raw.b", "drift", False, dg.AssetCheckSeverity.WARN),
    ):
        outcome.checks[table, name] = check(table, name, passed=passed, severity=severity)
    statement = DeriveStatement("full", 1, 1, declared={"a": "raw.a", "b": "raw.b"})
    assert list(map(str, computed_from(statement, outcome))) == ["raw.a (contract, unique_key FAILED)", "raw.b"]
