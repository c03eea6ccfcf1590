"""Each check of a derived table passes on a sound one, fails on a prepared one, and may have no answer at all."""

from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest

from lakehouse.declarations import ByDay
from lakehouse.orchestration.checks.derived.judges import trust_judges
from lakehouse.orchestration.checks.table_checks import table_checks
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES
from lakehouse.orchestration.resources import Lake
from lakehouse.proofs.lineage.computations import Computation
from lakehouse.proofs.lineage.origins import Origin
from lakehouse_tests.proofs.audit.document import Document, redigest, seals
from lakehouse_tests.proofs.lineage.computed import DAY, OTHER_DAY, TOP, A, B, C, Computed, derived, diamond, lake_of

pytestmark = pytest.mark.slow

NAMES = {"runtime_date", "vintage", "lineage"}
Evaluations = dict[str, dg.AssetCheckEvaluation]


@pytest.fixture
def lake(tmp_path: Path) -> Computed:
    lake = diamond(tmp_path)
    lake.source()
    lake.compute(B)
    lake.compute(C)
    lake.compute(TOP)
    return lake


def prove(lake: Computed, table: str = TOP) -> tuple[Evaluations, dg.ExecuteInProcessResult]:
    """Run the checks of one table as Dagster does, without Spark."""
    resource = Lake(None, lake.declarations, DEFAULT_NAMES)  # type: ignore[arg-type]
    vars(resource)["catalog"] = lake.catalog
    definition = table_checks(lake.declarations.tables[table], lake.declarations)
    assert definition is not None
    key = dg.AssetKey(table.split("."))
    chosen = dg.AssetSelection.checks(*(dg.AssetCheckKey(key, name) for name in NAMES))
    definitions = dg.Definitions(
        asset_checks=[definition],
        jobs=[dg.define_asset_job("prove", selection=chosen)],
        resources={"lake": resource, "spark": dg.ResourceDefinition.none_resource()},
    )
    result = definitions.resolve_job_def("prove").execute_in_process(raise_on_error=False)
    return {check.check_name: check for check in result.get_asset_check_evaluations()}, result


def failed(evaluations: Evaluations) -> set[str]:
    return {name for name, check in evaluations.items() if not check.passed}


def text(check: dg.AssetCheckEvaluation) -> str:
    return f"{check.description} " + " ".join(str(value.value) for value in check.metadata.values())


def test_a_sound_table_passes_all_from_metadata_and_says_what_was_judged(lake: Computed) -> None:
    for name in lake.declarations.tables:
        lake.unreadable(name)
    evaluations, result = prove(lake)
    assert result.success
    assert set(evaluations) == NAMES
    assert failed(evaluations) == set()
    for check in evaluations.values():
        assert check.metadata["snapshot id"].value == str(lake.head(TOP))
        assert check.metadata["answered from"].value in ("manifests", "seals")
        assert "seconds" in check.metadata
        assert check.metadata["runtime date"].value == "2024-05-14"
        for detail in (B, "2024-05-14", "run-derived.b", str(lake.head(B))):
            assert detail in text(check), "inputs with date, run and snapshot"
    assert "All 2 rows" in str(evaluations["runtime_date"].description)
    assert "its 2 declared inputs, at" in str(evaluations["lineage"].description)
    assert str(evaluations["vintage"].description) == "3 tables above it, each read in one version."


def test_a_single_input_is_told_in_the_singular(lake: Computed) -> None:
    evaluations, _ = prove(lake, B)
    assert "its 1 declared input, at" in str(evaluations["lineage"].description)
    assert str(evaluations["vintage"].description) == "1 table above it, each read in one version."


def test_all_three_are_blocking_and_only_derived_tables_have_them(lake: Computed) -> None:
    judges = trust_judges(lake.declarations.tables[TOP], lake.declarations)
    assert {judge.name for judge in judges if judge.blocking} == NAMES
    assert trust_judges(lake.declarations.tables[A], lake.declarations) == []


def _other_date(lake: Computed) -> None:
    lake.compute(TOP, rows=[OTHER_DAY])


def _null_date(lake: Computed) -> None:
    lake.relax(TOP)
    lake.compute(TOP, rows=[None])


def _edited_seal(lake: Computed) -> None:
    def forge(document: Document) -> None:
        seals(document)[0]["lakehouse.runtime_date"] = OTHER_DAY.isoformat()

    lake.edit(TOP, forge)


def _edited_seal_that_fits(lake: Computed) -> None:
    def forge(document: Document) -> None:
        seals(document)[0]["lakehouse.runtime_date"] = OTHER_DAY.isoformat()
        redigest(seals(document)[0])

    lake.edit(TOP, forge)


def _edited_input(lake: Computed) -> None:
    def forge(document: Document) -> None:
        seals(document)[0]["lakehouse.run_id"] = "somebody"

    lake.edit(B, forge)


def _two_versions(lake: Computed) -> None:
    lake.source()
    lake.compute(C)
    lake.compute(TOP)


def _two_versions_in_parts(lake: Computed) -> None:
    old, new = lake.head(A), lake.source()
    lake.compute(B, computed_from=[Origin({A: old}, ("may",)), Origin({A: new}, ("june",))])
    lake.compute(C)
    lake.compute(TOP)


def _input_of_another_date(lake: Computed) -> None:
    lake.compute(B, day=OTHER_DAY)
    lake.compute(TOP, dates={B: OTHER_DAY.isoformat(), C: "2024-05-14"})


def _input_with_a_part_of_another_date(lake: Computed) -> None:
    parts = [Computation("2024-06-01", "p", "run-may", ("may",)), Computation("2024-05-14", "p", "run-b", ("june",))]
    lake.compute(B, computed_by=parts)
    lake.compute(TOP)


def _input_with_a_part_of_other_parameters(lake: Computed) -> None:
    parts = [Computation("2024-05-14", "q", "run-may", ("may",)), Computation("2024-05-14", "p", "run-b", ("june",))]
    lake.compute(B, computed_by=parts)
    lake.compute(TOP)


def _input_hiding_its_date(lake: Computed) -> None:
    lake.compute(B, day=OTHER_DAY)
    lake.compute(TOP)


def _input_with_other_parameters(lake: Computed) -> None:
    lake.compute(B, digest="q")
    lake.compute(TOP)


def _undeclared_read(lake: Computed) -> None:
    lake.compute(TOP, scanned={B: lake.head(B), C: lake.head(C), A: lake.head(A)})


def _files_read(lake: Computed) -> None:
    lake.compute(TOP, scanned={B: lake.head(B), C: lake.head(C), "files (csv)": 0})


def _unused_input(lake: Computed) -> None:
    lake.compute(TOP, scanned={B: lake.head(B)})


def _read_by_name(lake: Computed) -> None:
    lake.compute(TOP, scanned={B: 0, C: lake.head(C)})


def _read_at_another_snapshot(lake: Computed) -> None:
    old = lake.head(B)
    lake.compute(B)
    lake.compute(TOP, scanned={B: old, C: lake.head(C)})


def _declared_otherwise(lake: Computed) -> None:
    lake.compute(TOP, of={B: lake.head(B)}, declared={"x0": B})


def _written_by_somebody(lake: Computed) -> None:
    table = lake.load(TOP)
    table.overwrite(table.scan().to_arrow().set_column(1, table.schema().as_arrow().field(1), [[OTHER_DAY, OTHER_DAY]]))


@pytest.mark.parametrize(
    ("prepare", "expected", "message"),
    [
        (_other_date, {"runtime_date"}, "holds 1 rows of 2024-06-01; run run-derived.top is of 2024-05-14"),
        (_null_date, {"runtime_date"}, "holds 1 rows without a runtime date"),
        (_edited_seal, NAMES, "the seal was changed after it was written"),
        (_edited_seal_that_fits, {"runtime_date"}, "holds 2 rows of 2024-05-14; run run-derived.top is of 2024-06-01"),
        (_edited_input, {"runtime_date", "vintage", "lineage"}, "derived.b snapshot"),
        (_two_versions, {"vintage"}, "derived.top ← derived.b ← raw.a at snapshot"),
        (_two_versions_in_parts, {"vintage"}, "derived.top ← derived.b (partition may) ← raw.a at snapshot"),
        (_input_of_another_date, {"runtime_date"}, "derived.b is of 2024-06-01 (run run-derived.b, snapshot"),
        (
            _input_with_a_part_of_another_date,
            {"runtime_date"},
            "derived.b (partition may) is of 2024-06-01 (run run-may, snapshot",
        ),
        (
            _input_with_a_part_of_other_parameters,
            {"runtime_date"},
            "derived.b (partition may) was computed with other parameters (q) (run run-may, snapshot",
        ),
        (_input_hiding_its_date, {"runtime_date"}, "derived.b says of itself that it is of 2024-06-01"),
        (_input_with_other_parameters, {"runtime_date"}, "derived.b was computed with other parameters (q)"),
        (_undeclared_read, {"lineage"}, "the function reads raw.a, which is not among its inputs"),
        (_files_read, {"lineage"}, "the function reads files (csv), which is not among its inputs"),
        (_unused_input, {"lineage"}, "derived.c is declared as an input, and the function never reads it"),
        (_read_by_name, {"lineage"}, "the function reads derived.b without naming a snapshot"),
        (_read_at_another_snapshot, {"lineage"}, "was pinned for its run"),
        (_declared_otherwise, {"lineage"}, "derived.c is an input now"),
        (_written_by_somebody, {"runtime_date"}, "holds 2 rows of 2024-06-01"),
    ],
)
def test_a_prepared_fault_fails_its_check_and_is_named_with_its_repair(
    lake: Computed, prepare: Callable[[Computed], None], expected: set[str], message: str
) -> None:
    prepare(lake)
    evaluations, result = prove(lake)
    assert failed(evaluations) == expected
    assert set(evaluations) == NAMES, "what fails leaves no other question unanswered"
    [stopped] = result.get_step_failure_events()
    assert stopped.step_failure_data.error is not None
    assert "DagsterAssetCheckFailedError" in stopped.step_failure_data.error.to_string(), "an answer, and no error"
    for name in expected:
        check = evaluations[name]
        assert message in str(check.description), check.description
        assert "To repair: " in str(check.description)
        assert "`lakehouse derive derived.top" in str(check.description)
        assert check.severity is dg.AssetCheckSeverity.ERROR
        assert "findings" in check.metadata


def test_the_repair_is_a_command_for_the_date_and_parameters_that_the_table_has(lake: Computed) -> None:
    lake.source()
    lake.compute(C)
    lake.compute(TOP, parameters={"least": 3, "city": "Kiel am See"})
    description = str(prove(lake)[0]["vintage"].description)
    assert "--runtime-date 2024-05-14 --parameter least=3 --parameter 'city=Kiel am See'`" in description


def test_the_partitions_that_are_of_an_older_version_are_named_all(tmp_path: Path) -> None:
    by = ByDay(column="runtime_date", start=DAY)
    lake = lake_of(tmp_path, [A], derived(B, A, partitioning=("day(runtime_date)",), partitions=by))
    old, days = lake.source(), ("2024-05-14", "2024-05-16", "2024-05-18", "2024-05-20..2024-05-29")
    lake.compute(B, computed_from=[Origin({A: old}, days), Origin({A: lake.source()}, ("2024-05-30",))])
    description = str(prove(lake, B)[0]["vintage"].description)
    assert f"Computed from an older version: partitions {', '.join(days)} of {B}. " in description
    assert "(run tag lakehouse/runtime_date=2024-05-14). To repair: " in description


def test_the_repair_computes_all_rows_where_new_ones_would_not_mend_the_old(lake: Computed) -> None:
    lake.compute(B, follows="raw.grows")
    lake.source()
    lake.compute(C)
    lake.compute(TOP)
    assert "--downstream --rebuild " in str(prove(lake)[0]["vintage"].description)


@pytest.mark.parametrize(("prepare", "check"), [("version", "vintage"), ("date", "runtime_date")])
def test_a_declared_backfill_is_shown_and_stops_nothing(lake: Computed, prepare: str, check: str) -> None:
    if prepare == "version":
        lake.source()
        lake.compute(C)
        lake.compute(TOP, differs="May was late")
    else:
        lake.compute(B, day=OTHER_DAY)
        lake.compute(TOP, dates={B: OTHER_DAY.isoformat(), C: "2024-05-14"}, differs="May was late")
    evaluations, _ = prove(lake)
    assert failed(evaluations) == {check}
    assert evaluations[check].severity is dg.AssetCheckSeverity.WARN
    assert "declared backfill (May was late)" in str(evaluations[check].description)
    for each in evaluations.values():
        assert each.metadata["declared backfill"].value == "May was late"


def test_a_backfill_excuses_no_wrong_row(lake: Computed) -> None:
    lake.compute(B, day=OTHER_DAY)
    lake.compute(TOP, rows=[OTHER_DAY], dates={B: OTHER_DAY.isoformat(), C: "2024-05-14"}, differs="May was late")
    assert prove(lake)[0]["runtime_date"].severity is dg.AssetCheckSeverity.ERROR


def test_a_rewrite_between_two_reads_is_no_fault(lake: Computed) -> None:
    lake.rewrite(A)
    lake.compute(C)
    lake.compute(TOP)
    assert failed(prove(lake)[0]) == set()


def test_what_has_expired_is_no_verdict(lake: Computed) -> None:
    read = lake.head(B)
    lake.compute(B)
    lake.forget(B, read, *lake.before(B, read))
    evaluations, result = prove(lake)
    assert not result.success
    assert "vintage" not in evaluations
    assert evaluations["runtime_date"].passed
    [failure] = result.get_step_failure_events()
    assert failure.step_failure_data.error is not None
    assert "CannotJudge" in failure.step_failure_data.error.to_string()


def test_a_missing_table_is_no_verdict(lake: Computed) -> None:
    lake.catalog.drop_table(tuple(TOP.split(".")))
    evaluations, result = prove(lake)
    assert not result.success
    assert not evaluations


def test_before_the_first_run_everything_passes(tmp_path: Path) -> None:
    evaluations, result = prove(diamond(tmp_path))
    assert result.success
    assert set(evaluations) == NAMES
    assert failed(evaluations) == set()
    assert "nothing to prove" in str(evaluations["lineage"].description)
