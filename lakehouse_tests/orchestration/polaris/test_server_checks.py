"""The checks of a Polaris server: they tell what differs and what is wrong, and they change nothing."""

from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest

from lakehouse import Lake
from lakehouse.orchestration.dagster_names import DagsterNames
from lakehouse.orchestration.polaris.server_checks import AS_DECLARED, WELL, polaris_asset, polaris_checks
from lakehouse.polaris import CredentialsFile, PolarisApi, PolarisServer, apply_polaris, plan_polaris, survey, wanted
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.polaris.conftest import declare, played
from lakehouse_tests.polaris.played_server import PlayedPolaris, secrets_of

__all__ = ["declare", "played"]
Run = Callable[[], dict[str, dg.AssetCheckEvaluation]]


class Settings:
    """As much of them as the checks ask for."""

    def __init__(self, conf: Path) -> None:
        self.conf = conf


@pytest.fixture
def run(tmp_path: Path, declare: Callable[..., PolarisServer]) -> Run:
    declare()
    lake = Lake(sql_settings(tmp_path), declarations=None)  # pyright: ignore
    lake.settings = Settings(tmp_path / "conf")  # pyright: ignore
    names = DagsterNames(prefix=("corp",))

    def run() -> dict[str, dg.AssetCheckEvaluation]:
        defs = dg.Definitions(
            assets=[polaris_asset("example", names)],
            asset_checks=[polaris_checks("example", names)],
            resources={"lake": lake},
        )
        job = defs.resolve_implicit_global_asset_job_def()
        with dg.DagsterInstance.ephemeral() as instance:
            result = job.execute_in_process(instance=instance)
            return {verdict.check_name: verdict for verdict in result.get_asset_check_evaluations()}

    return run


def apply(tmp_path: Path, declare: Callable[..., PolarisServer]) -> None:
    server = declare()
    api = PolarisApi(server)
    apply_polaris(api, plan_polaris(wanted(server), survey(api, server)), CredentialsFile(tmp_path / "secrets"))


def test_drift_is_told_and_left_as_it_is(
    run: Run, played: PlayedPolaris, declare: Callable[..., PolarisServer], tmp_path: Path
) -> None:
    apply(tmp_path, declare)
    well = run()
    assert {name: verdict.passed for name, verdict in well.items()} == {AS_DECLARED: True, WELL: True}
    played.catalog_roles["lake_aws"]["reader"].append({"type": "catalog", "privilege": "CATALOG_MANAGE_CONTENT"})
    played.principals["bob"] = {"name": "bob"}
    before = len(played.writes)
    drift = run()[AS_DECLARED]
    assert not drift.passed
    assert drift.asset_key == dg.AssetKey(["corp", "servers", "polaris", "example"])
    assert drift.description == (
        "1 difference: revoke CATALOG_MANAGE_CONTENT on catalog from catalog role reader of lake_aws … "
        "Remedy: `lakehouse polaris apply example`."
    )
    assert drift.metadata["not_declared"].value == "principal bob"
    assert len(played.writes) == before
    assert not [secret for secret in secrets_of(played) for verdict in well.values() if secret in str(verdict)]


def test_a_server_that_does_not_let_us_in_fails_both(run: Run, played: PlayedPolaris) -> None:
    played.secrets.clear()
    failed = run()
    assert {verdict.passed for verdict in failed.values()} == {False}
    assert "gives no token for the credential" in str(failed[WELL].description)


def test_what_is_wrong_is_told_with_its_remedy(run: Run, played: PlayedPolaris) -> None:
    played.health = {"status": "DOWN"}
    verdict = run()[WELL]
    assert not verdict.passed
    assert "says DOWN: no part by name. Remedy: see the log of Polaris." in str(verdict.description)
