"""A plan is carried out once, in its order; a second one finds nothing, and a secret is never told elsewhere."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lakehouse.polaris import (
    CredentialsFile,
    CredentialsNotKept,
    PolarisApi,
    PolarisNotApplied,
    PolarisPlan,
    PolarisRefused,
    PolarisServer,
    apply_polaris,
    plan_polaris,
    survey,
    wanted,
)
from lakehouse.polaris.applying import file_for
from lakehouse.polaris.rotation import reset_credentials
from lakehouse_tests.polaris.played_server import PlayedPolaris


def planned(api: PolarisApi, server: PolarisServer) -> PolarisPlan:
    return plan_polaris(wanted(server), survey(api, server))


def test_a_second_time_there_is_nothing_to_do(applied: PlayedPolaris, api: PolarisApi, server: PolarisServer) -> None:
    before = len(applied.writes)
    again = planned(api, server)
    apply_polaris(api, again, file_for(again, None))
    assert not again.drift
    assert len(applied.writes) == before


def test_a_new_principal_needs_a_file_before_anything_is_done(
    played: PlayedPolaris, api: PolarisApi, server: PolarisServer, tmp_path: Path
) -> None:
    plan = planned(api, server)
    with pytest.raises(PolarisNotApplied, match=r"lake-ingest, .* name one with --secrets FILE"):
        file_for(plan, None)
    with pytest.raises(CredentialsNotKept, match="cannot be written"):
        file_for(plan, tmp_path / "nosuch" / "secrets")
    assert played.writes == []


def test_a_secret_is_kept_before_the_next_request(
    played: PlayedPolaris, api: PolarisApi, server: PolarisServer, tmp_path: Path
) -> None:
    plan, seen = planned(api, server), list[bool]()
    kept = CredentialsFile(tmp_path / "secrets")
    apply_polaris(
        api,
        plan,
        kept,
        lambda change: seen.append(not change.principal or change.principal in CredentialsFile(tmp_path / "secrets")),
    )
    assert len(seen) == len(plan.changes)
    assert all(seen)
    for name, (client, secrets) in played.secrets.items():
        if name != "root":
            assert kept.credential(name) == f"{client}:{secrets[0]}"
    assert not [
        change for change in plan.changes for _, secrets in played.secrets.values() if secrets[0] in str(change)
    ]


def test_where_something_is_refused_nothing_is_done(
    applied: PlayedPolaris, declare: Callable[..., PolarisServer]
) -> None:
    server = declare(("external_id: acme-lake", "external_id: other"))
    api = PolarisApi(server)
    applied.catalog_roles["lake_aws"]["reader"].clear()
    before = len(applied.writes)
    with pytest.raises(PolarisNotApplied, match="externalId is acme-lake and should be other"):
        apply_polaris(api, planned(api, server), None)
    assert len(applied.writes) == before


def test_somebody_was_quicker(applied: PlayedPolaris, api: PolarisApi, server: PolarisServer) -> None:
    applied.catalogs["lake_aws"]["storageConfigInfo"]["region"] = "us-east-1"
    plan = planned(api, server)
    applied.catalogs["lake_aws"]["entityVersion"] += 1
    with pytest.raises(PolarisRefused, match=r"409 CommitConflictException.*Remedy: somebody else changes it"):
        apply_polaris(api, plan, None)
    again = planned(api, server)
    apply_polaris(api, again, None)
    assert applied.catalogs["lake_aws"]["storageConfigInfo"]["region"] == "eu-central-1"


def test_what_stopped_half_way_goes_on(
    played: PlayedPolaris, api: PolarisApi, server: PolarisServer, tmp_path: Path
) -> None:
    class Stopped(Exception):
        pass

    made: list[object] = []

    def stop(change: object) -> None:
        made.append(change)
        if len(made) == 20:
            raise Stopped

    kept = CredentialsFile(tmp_path / "secrets")
    with pytest.raises(Stopped):
        apply_polaris(api, planned(api, server), kept, stop)
    rest = planned(api, server)
    assert rest.changes
    apply_polaris(api, rest, kept)
    assert not planned(api, server).drift


def test_a_credential_of_somebody_else_is_not_written_over(
    played: PlayedPolaris, api: PolarisApi, server: PolarisServer, tmp_path: Path
) -> None:
    CredentialsFile(tmp_path / "secrets").keep("lake_ingest", "other:1")
    with pytest.raises(CredentialsNotKept, match="has a LAKE_INGEST_CREDENTIAL, and the principal lake-ingest is new"):
        file_for(planned(api, server), tmp_path / "secrets")
    assert played.writes == []
    assert CredentialsFile(tmp_path / "secrets").credential("lake_ingest") == "other:1"


def test_a_credential_whose_answer_is_lost_is_missed(
    played: PlayedPolaris, api: PolarisApi, server: PolarisServer, tmp_path: Path
) -> None:
    plan, secrets = planned(api, server), tmp_path / "secrets"
    played.lost.add("/api/management/v1/principals")
    lost = next(change.principal for change in plan.changes if change.principal)
    remedy = f"lakehouse polaris rotate {lost} --reset --secrets {secrets} --yes"
    with pytest.raises(PolarisNotApplied, match=f"principal {lost}: .* nobody has its .*{remedy}") as error:
        apply_polaris(api, plan, file_for(plan, secrets))
    assert played.secrets[lost][1][0] not in str(error.value)
    again = planned(api, server)
    assert lost not in [change.principal for change in again.changes]
    with pytest.raises(PolarisNotApplied, match=f"{lost}: made by a run whose answer was lost.*{remedy}"):
        file_for(again, secrets, server.principals)
    reset_credentials(api, server, lost, CredentialsFile(secrets))
    apply_polaris(api, again, file_for(again, secrets, server.principals))
    assert CredentialsFile(secrets).credential(lost).endswith(played.secrets[lost][1][0])
    assert not planned(api, server).drift


def test_a_credential_that_another_process_has_kept_meanwhile_stays(
    played: PlayedPolaris, api: PolarisApi, server: PolarisServer, tmp_path: Path
) -> None:
    plan = planned(api, server)
    first, second = file_for(plan, tmp_path / "secrets"), file_for(plan, tmp_path / "secrets")
    apply_polaris(api, plan, first)
    kept = (tmp_path / "secrets").read_text()
    creations = [change for change in plan.changes if change.principal]
    with pytest.raises(CredentialsNotKept, match="is new: it is of another server"):
        apply_polaris(api, replace(plan, changes=tuple(creations)), second)
    assert (tmp_path / "secrets").read_text() == kept


def test_a_principal_that_somebody_else_has_made_leaves_no_mark(
    played: PlayedPolaris, api: PolarisApi, server: PolarisServer, tmp_path: Path
) -> None:
    plan = planned(api, server)
    creations = tuple(change for change in plan.changes if change.principal)
    apply_polaris(api, replace(plan, changes=creations), file_for(plan, tmp_path / "theirs"))
    ours = file_for(plan, tmp_path / "ours")
    with pytest.raises(PolarisRefused, match="409"):
        apply_polaris(api, replace(plan, changes=creations), ours)
    assert (tmp_path / "ours").read_text() == ""
