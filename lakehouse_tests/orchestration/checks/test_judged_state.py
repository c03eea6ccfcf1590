"""What a verdict depends on: all tables that may have been read, and what is declared, in full."""

from datetime import date
from typing import Any

import dagster as dg
import pandera.pyspark as pa
import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import Declarations, Derived, References
from lakehouse.orchestration.checks.judged_state import judged_state, judged_tables, known_state, with_state
from lakehouse_tests.declarations.declaring import declare

COLUMNS = {"n": pa.Column(T.LongType())}


def computed(n: Any) -> Any:
    return n


def made(name: str, source: str, check: pa.Check | None = None, **more: Any) -> Derived:
    """A table that is computed from another."""
    columns = {"n": pa.Column(T.StringType(), check), "on": pa.Column(T.DateType())}
    table = declare(columns, name=name, write_mode="overwrite", runtime_date_column="on", **more)
    return Derived(table=table, inputs={"n": source}, compute=computed)


def declared(*computations: Derived) -> Declarations:
    tables = {each.name: each.table for each in computations} | {"raw.a": declare(COLUMNS, name="raw.a")}
    return Declarations(tables, {}, {}, derived={each.name: each for each in computations})


def test_it_reaches_up_to_what_the_tables_stem_from() -> None:
    last = declare(COLUMNS, name="raw.c", expects=(References(columns=("n",), table="mart.b"),))
    declarations = declared(made("mart.b", "raw.a"))
    declarations.tables["raw.c"] = last
    assert judged_tables("raw.c", declarations) == {"raw.c", "mart.b", "raw.a"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (pa.Check.isin([str(n) for n in range(100)]), pa.Check.isin([str(n) for n in range(100) if n != 50] + ["x"])),
        (pa.Check.str_startswith("a"), pa.Check.str_startswith("b")),
    ],
    ids=["in the middle of many values", "a text"],
)
def test_a_rule_with_other_values_is_another(before: pa.Check, after: pa.Check) -> None:
    def state(check: pa.Check) -> dict[str, str]:
        return judged_state("mart.c", declared(made("mart.c", "raw.a", check)), {"mart.c": "s"})

    assert state(before) == state(before) != state(after)


def test_a_table_that_was_not_read_has_no_state_and_its_verdict_none() -> None:
    declarations = Declarations({"raw.a": declare({"on": T.DateType()}, name="raw.a")}, {}, {})
    assert judged_state("raw.a", declarations, {}) == {}
    result = dg.AssetCheckResult(passed=True, metadata={"day": str(date(2020, 1, 1))})
    assert with_state(result, {}) is result


def test_what_a_verdict_says_of_it_is_read_again() -> None:
    state = {"declared": "d", "raw.a": "s"}
    result = with_state(dg.AssetCheckResult(passed=True, asset_key="a", check_name="c"), state)
    evaluation = dg.AssetCheckEvaluation(
        check_name="c",
        asset_key=dg.AssetKey("a"),
        passed=True,
        metadata={label: dg.MetadataValue.text(str(value.value)) for label, value in result.metadata.items()},
    )
    assert known_state(evaluation) == state
