"""A dated table of a user's own names the parameters that its asset has read, and those that its inputs have used."""

import json
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg
import pandera.pyspark as pandera
import pyarrow as pa
import pyspark.sql.types as T  # noqa: N812
import pytest
import yaml

from lakehouse.build import _of_each_run
from lakehouse.declarations import Declarations, Table
from lakehouse.orchestration.resources import Lake
from lakehouse.orchestration.run_context import PARAMETERS_TAG, RUNTIME_DATE_TAG
from lakehouse.proofs.lineage.computations import Computation, computations_of
from lakehouse.settings import load_settings, value_digests
from lakehouse.steps.derived.refusals import ParameterNotDeclared
from lakehouse_tests.orchestration.assets.house import shipped_conf

ROWS = pa.table({"day": pa.array([date(2013, 5, 14)], pa.date32()), "n": pa.array([1], pa.int64())})
Body = Callable[[Lake, dg.AssetExecutionContext], None]


def table(name: str, *, dated: bool) -> Table:
    columns = {"day": pandera.Column(T.DateType(), nullable=False), "n": pandera.Column(T.LongType(), nullable=False)}
    return Table(
        name=name,
        schema=pandera.DataFrameSchema(columns),
        description="rows",
        owner="tests",
        runtime_date_column="day" if dated else None,
    )


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    conf = shipped_conf(tmp_path)
    document = yaml.safe_load((conf / "lakehouse.yaml").read_text())
    (conf / "lakehouse.yaml").unlink()  # a link
    given = {**document, "home": str(tmp_path / "state"), "parameters": {"least": 2, "city": "Kiel"}}
    (conf / "lakehouse.yaml").write_text(yaml.safe_dump(given))
    settings = load_settings(conf, {})
    declared = {name: table(name, dated=name != "mart.plain") for name in ("mart.one", "mart.two", "mart.plain")}
    return Lake(settings, Declarations(declared, {}, {}))


def run(lake: Lake, body: Body, parameters: Mapping[str, Any] | None = None, **more: Any) -> None:
    @dg.asset(config_schema={"most": dg.Field(int, is_required=False)})
    def own(context: dg.AssetExecutionContext, lake: dg.ResourceParam[Lake]) -> None:
        body(lake, context)

    tags = {RUNTIME_DATE_TAG: "2013-05-14", PARAMETERS_TAG: json.dumps(dict(parameters or {}))}
    dg.materialize([own], resources={"lake": _of_each_run(lake)}, tags=tags, **more)


def writes(name: str, *used: str, reads: tuple[str, ...] = (), mode: str = "overwrite") -> Body:
    def body(lake: Lake, context: dg.AssetExecutionContext) -> None:
        for read in reads:
            lake.arrow(read)
        for parameter in used:
            assert lake.parameters(context)[parameter]
        lake.write(context, name, ROWS, mode=mode)  # pyright: ignore[reportArgumentType]

    return body


def computed(lake: Lake, name: str) -> Computation:
    lake.let_go()
    sealed = lake.pin(name)[name].sealed
    assert sealed is not None
    return computations_of(sealed.seal)[-1]


def used(lake: Lake, name: str) -> Mapping[str, str] | None:
    return computed(lake, name).used


def digests(**values: Any) -> dict[str, str]:
    return value_digests(values)


def test_what_the_asset_has_read_counts(lake: Lake) -> None:
    run(lake, writes("mart.one", "least"), {"city": "Ulm"})
    assert used(lake, "mart.one") == digests(least=2)
    first = computed(lake, "mart.one")
    run(lake, writes("mart.two"), {"least": 3})
    assert used(lake, "mart.two") == {}
    assert first.agrees_with(computed(lake, "mart.two")), "they share none"
    run(lake, writes("mart.two", "least"), {"least": 3})
    assert not first.agrees_with(computed(lake, "mart.two"))


def test_what_an_input_has_used_counts_as_well(lake: Lake) -> None:
    run(lake, writes("mart.one", "least"))
    run(lake, writes("mart.two", "city", reads=("mart.one",)))
    assert used(lake, "mart.two") == digests(least=2, city="Kiel")


def test_nobody_can_tell_where_an_input_was_computed_with_another_value(lake: Lake) -> None:
    run(lake, writes("mart.one", "least"))
    run(lake, writes("mart.two", "least", reads=("mart.one",)), {"least": 3})
    assert used(lake, "mart.two") is None


def test_nobody_can_tell_where_the_run_has_a_configuration(lake: Lake) -> None:
    run(lake, writes("mart.one", "least"), run_config={"ops": {"own": {"config": {"most": 5}}}})
    assert used(lake, "mart.one") is None


def test_rows_that_are_added_are_of_the_parameters_of_both_runs(lake: Lake) -> None:
    run(lake, writes("mart.one", "least", mode="append"))
    run(lake, writes("mart.one", "city", mode="append"))
    assert used(lake, "mart.one") == digests(least=2, city="Kiel")
    run(lake, writes("mart.one", "city", mode="append"), {"city": "Ulm"})
    assert used(lake, "mart.one") is None
    run(lake, writes("mart.one", "city"), {"city": "Ulm"})
    assert used(lake, "mart.one") == digests(city="Ulm")


def test_a_table_without_a_date_names_none(lake: Lake) -> None:
    run(lake, writes("mart.plain", "least"))
    assert used(lake, "mart.plain") is None


def test_each_step_begins_anew(lake: Lake) -> None:
    def both(lake: Lake, context: dg.AssetExecutionContext) -> None:
        assert lake.parameters(context)["least"] == 2

    run(lake, both)
    run(lake, writes("mart.one", "city"))
    assert used(lake, "mart.one") == digests(city="Kiel")


def test_a_slip_is_told_by_name(lake: Lake) -> None:
    with pytest.raises(ParameterNotDeclared, match="'lest', which is not declared"):
        run(lake, writes("mart.one", "lest"))
