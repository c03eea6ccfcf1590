"""Each check of a mirror passes on a sound one, fails on a prepared one, and may have no answer at all."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from typer.testing import CliRunner

from lakehouse.build import PROVE_JOB
from lakehouse.cli import app
from lakehouse.declarations import Mirror
from lakehouse.orchestration.checks import mirror_checks
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES
from lakehouse.orchestration.resources import Lake
from lakehouse.protocol.catalog import open_catalog
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.orchestration.assets.house import House, checks
from lakehouse_tests.steps.cdc.mirrored import BIRDS, LOG, TOMBSTONES, MirroredLake, Saved, change, insert, refusal

pytestmark = pytest.mark.slow

NAMES = {
    "balance",
    "delay",
    "unique_key",
    "order",
    "doubtful_keys",
    "contract",
    "mirror_is_its_changelog",
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    folder = tmp_path_factory.mktemp("lake")
    mirror = Mirror(name=BIRDS, changelog=LOG, lateness=timedelta(seconds=30))
    made = MirroredLake(open_catalog(sql_settings(folder)), mirror)
    made.ingest(*(insert(n, n) for n in range(1, 6)))
    made.apply()
    made.ingest(change("delete", 11, 2), change("update", 12, 3, name="x", without=("song",)))
    made.apply()
    return Saved(made, folder)


@pytest.fixture
def lake(filled: Saved) -> MirroredLake:
    return filled.again()


def prove(lake: MirroredLake, *names: str) -> tuple[dict[str, dg.AssetCheckEvaluation], dg.ExecuteInProcessResult]:
    """Run the checks, or some of them, as Dagster does."""
    resource = Lake(None, lake.declarations, DEFAULT_NAMES)  # type: ignore[arg-type]
    vars(resource)["catalog"] = lake.catalog
    definition = mirror_checks(lake.tables, lake.declarations)
    key = dg.AssetKey(BIRDS.split("."))
    chosen = dg.AssetSelection.checks(*(dg.AssetCheckKey(key, name) for name in names or NAMES))
    definitions = dg.Definitions(
        asset_checks=[definition],
        jobs=[dg.define_asset_job("prove", selection=chosen)],
        resources={"lake": resource},
    )
    result = definitions.resolve_job_def("prove").execute_in_process(raise_on_error=False)
    return {check.check_name: check for check in result.get_asset_check_evaluations()}, result


def failed(evaluations: dict[str, dg.AssetCheckEvaluation]) -> set[str]:
    return {name for name, check in evaluations.items() if not check.passed}


def test_a_sound_mirror_passes_every_check_and_says_what_was_looked_at(lake: MirroredLake) -> None:
    evaluations, result = prove(lake)
    assert result.success
    assert set(evaluations) == NAMES
    assert failed(evaluations) == set()
    fold = evaluations["mirror_is_its_changelog"]
    assert fold.metadata["looked at"].value == "every key"
    assert fold.metadata["rows compared"].value == 4
    assert "are what 7 changes make" in str(fold.description)
    assert evaluations["contract"].metadata["rows"].value == 4


def test_one_check_can_run_alone(lake: MirroredLake) -> None:
    evaluations, result = prove(lake, "unique_key")
    assert result.success
    assert set(evaluations) == {"unique_key"}


def _another_row(lake: MirroredLake) -> None:
    lake.tamper(BIRDS, [{**row, "song": "secret"} if row["id"] == 4 else row for row in lake.rows()])


def _twin(lake: MirroredLake) -> None:
    lake.tamper(BIRDS, [*lake.rows(), lake.rows()[0]])


def _broken_books(lake: MirroredLake) -> None:
    lake.ingest(insert(20, 20))
    lake.apply(operations={"update": 1}, total_operations={"update": 9})


def _contradiction(lake: MirroredLake) -> None:
    lake.ingest(insert(20, 20), insert(20, 20, name="impostor"))
    lake.apply()


def _late(lake: MirroredLake) -> None:
    lake.ingest(insert(100, 20), insert(50, 21))
    lake.apply()


def _waiting(lake: MirroredLake) -> None:
    lake.ingest(insert(20, 20))


def _refused(lake: MirroredLake) -> None:
    lake.ingest(refusal(b'{"id": 4}', b'{"op": "u", "after": {"id": 4, "weight": "secret"}}'))
    lake.ingest(insert(20, 20))
    lake.apply()


def _broken_rule(lake: MirroredLake) -> None:
    lake.ingest(insert(20, 20, weight=-31.5))
    lake.apply()


@pytest.mark.parametrize(
    ("prepare", "expected", "message"),
    [
        (_another_row, {"mirror_is_its_changelog", "balance"}, "id=4: song differs"),
        (_twin, {"mirror_is_its_changelog", "balance", "unique_key"}, "2 rows"),
        (_broken_books, {"mirror_is_its_changelog", "balance"}, "says it applied 1 update"),
        (_contradiction, {"order"}, "2 different changes (partition 0 offset 7, partition 0 offset 8)"),
        (_late, {"order"}, "0:00:50 late, longer than the 0:00:30"),
        (_waiting, {"delay"}, "1 changes are not in the mirror yet"),
        (_refused, {"doubtful_keys"}, "id=4: wrong_type at partition 0 offset 7"),
        (_broken_rule, {"contract"}, "weight: greater_than(0) (1 rows)"),
    ],
)
def test_a_prepared_fault_fails_its_check_and_is_named(
    lake: MirroredLake, prepare: Callable[[MirroredLake], None], expected: set[str], message: str
) -> None:
    prepare(lake)
    evaluations, result = prove(lake)
    # Nothing may be computed from a mirror that is not its changelog; any other check only answers.
    assert result.success == ("mirror_is_its_changelog" not in expected)
    assert failed(evaluations) == expected
    shown = " ".join(text(evaluations[name]) for name in expected)
    assert message in shown
    assert "secret" not in shown
    assert "31.5" not in shown


def text(check: dg.AssetCheckEvaluation) -> str:
    return f"{check.description} " + " ".join(str(value.value) for value in check.metadata.values())


def test_late_and_waiting_only_warn(lake: MirroredLake) -> None:
    _late(lake)
    _waiting(lake)
    evaluations, _ = prove(lake)
    assert {evaluations[name].severity for name in ("order", "delay")} == {dg.AssetCheckSeverity.WARN}


def test_a_contradiction_is_an_error(lake: MirroredLake) -> None:
    _contradiction(lake)
    assert prove(lake)[0]["order"].severity is dg.AssetCheckSeverity.ERROR


def test_what_cannot_be_folded_any_more_is_no_verdict(lake: MirroredLake) -> None:
    lake.catalog.drop_table(LOG)
    MirroredLake(lake.catalog)
    evaluations, result = prove(lake)
    assert not result.success
    assert "mirror_is_its_changelog" not in evaluations
    assert evaluations["unique_key"].passed
    [failure] = result.get_step_failure_events()
    assert failure.step_failure_data.error is not None
    assert "CannotFold" in failure.step_failure_data.error.to_string()


def test_a_missing_table_is_no_verdict(lake: MirroredLake) -> None:
    lake.catalog.drop_table(TOMBSTONES)
    evaluations, result = prove(lake)
    assert not result.success
    assert not evaluations


def test_before_the_first_run_everything_passes(tmp_path: Path) -> None:
    evaluations, result = prove(MirroredLake(open_catalog(sql_settings(tmp_path))))
    assert result.success
    assert failed(evaluations) == set()


def audit(house: House, *arguments: str) -> Any:
    return CliRunner().invoke(app, ["--conf", str(house.conf), "audit", *arguments])


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.slow
def test_a_mirror_made_by_spark_is_proven_without_it_and_found_out_when_changed(working_house: House) -> None:
    house = working_house
    house.follow()
    for lsn, (operation, nest) in enumerate([("c", 1), ("c", 2), ("u", 1), ("d", 2), ("c", 3), ("c", 4)], start=1):
        house.change(operation, lsn, nest, eggs=lsn, finder="Ann")
    assert house.run().success
    for lsn, (operation, nest) in enumerate([("u", 3), ("c", 2), ("d", 4), ("d", 9)], start=7):
        house.change(operation, lsn, nest, eggs=lsn)
    assert house.run().success
    sound = _mirror_checks(house)
    assert set(sound) == NAMES
    assert failed(sound) <= {"order"}, {name: check.description for name, check in sound.items()}
    assert sound["mirror_is_its_changelog"].metadata["rows compared"].value == 3
    good = json.loads(audit(house, "mirror.nests", "--json").output)
    assert good["holds"]
    assert (good["streams"], good["mirrors"][0]["rows"]) == ([], 3)

    house.lake().catalog.load_table(("mirror", "nests")).delete("nest = 3")
    evaluations = _mirror_checks(house)
    assert "nest=3: is missing" in text(evaluations["mirror_is_its_changelog"])
    bad = audit(house)
    assert bad.exit_code == 1, bad.output
    assert "BROKEN rows_differ: mirror.nests: mirror.nests: 1 rows are missing: nest=3" in bad.output
    assert audit(house, "mirror.fish").exit_code == 2


def _mirror_checks(house: House) -> dict[str, dg.AssetCheckEvaluation]:
    job = house.defs(spark=dg.ResourceDefinition.none_resource()).resolve_job_def(PROVE_JOB)
    result = job.execute_in_process(instance=house.instance, raise_on_error=False)
    prefix = "mirror.nests "
    return {name.removeprefix(prefix): check for name, check in checks(result).items() if name.startswith(prefix)}
