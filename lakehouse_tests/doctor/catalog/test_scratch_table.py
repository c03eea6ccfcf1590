"""The whole way on a catalog that answers as the clouds do: each cause is named with its remedy, and no secret is."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lakehouse.doctor.catalog.login import login
from lakehouse.doctor.catalog.rest_answers import RestAnswers
from lakehouse.doctor.catalog.scratch_table import capability, scratch_of_rest, scratch_of_sql
from lakehouse.doctor.finding import Diagnosis
from lakehouse.settings import CatalogSettings
from lakehouse_tests.fixtures.fake_catalog import FakeCatalog

_ROLE, _USER = "arn:aws:iam::123456789012:role/lake", "arn:aws:iam::210987654321:user/polaris"
_TRUST = (
    f"Failed to get subscoped credentials: User: {_USER} is not authorized to perform: sts:AssumeRole on resource: "
)
_GCS = "Permission 'iam.serviceAccounts.getAccessToken' denied on resource (or it may not exist)."
_BUCKET = (
    "lake@p.iam.gserviceaccount.com does not have storage.objects.create access to the Google Cloud Storage object."
)
_AZURE = "Status code 403, AuthorizationPermissionMismatch: This request is not authorized to perform this operation"


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[FakeCatalog]:
    (tmp_path / "table").mkdir()
    with FakeCatalog(location=(tmp_path / "table").as_uri()) as running:
        yield running


def findings(settings: CatalogSettings) -> dict[str, Diagnosis]:
    answers = RestAnswers(settings)
    assert not [finding for finding in login(answers, settings) if finding.state == "wrong"]
    return {finding.check: finding for finding in scratch_of_rest(answers, settings)}


@pytest.mark.parametrize(
    ("status", "message", "cause", "remedy"),
    [
        (422, _TRUST + _ROLE, f"{_USER} assume {_ROLE}: trust goes only one way", "the trust policy of"),
        (403, _GCS, "iam.serviceAccounts.getAccessToken", "serviceAccountTokenCreator"),
        (403, _BUCKET, "it lacks storage.objects.create", "storage.objectAdmin"),
        (403, _AZURE, "no right on the storage account", "Storage Blob Data Contributor"),
        (400, "Credential vending was requested, but no credentials are available", "no STS", "access: static"),
        (403, "Principal 'x' is not authorized for op CREATE_TABLE_DIRECT", "CREATE_TABLE_DIRECT", "CATALOG_MANAGE"),
        (422, "Failed to get subscoped credentials: NoSuchBucket", "no such bucket", "correct the warehouse"),
    ],
    ids=["trust", "token creator", "bucket", "azure", "no sts", "role", "no bucket"],
)
def test_what_a_cloud_denies_is_named(fake: FakeCatalog, status: int, message: str, cause: str, remedy: str) -> None:
    fake.refusal = (status, "SomeException", f"{message} (token hush-3)")
    wrong = [finding for finding in findings(fake.settings()).values() if finding.state == "wrong"]
    (named,) = [finding for finding in wrong if cause in finding.message]
    assert remedy in named.remedy
    assert "hush-3" not in str(wrong), "of a server's words only names are repeated"


def test_an_object_is_written_read_listed_and_deleted_and_nothing_is_left(fake: FakeCatalog, tmp_path: Path) -> None:
    soon = str(int((time.time() + 3600) * 1000))
    fake.lent = {"s3.session-token": "hush-4", "s3.session-token-expires-at-ms": soon, "client.region": "eu-west-1"}
    by_check = findings(fake.settings(storage="s3", endpoint="http://127.0.0.1:1"))
    assert by_check["probe object"].state == "well"
    assert "hold until" in by_check["expiry"].message
    assert list((tmp_path / "table").iterdir()) == []
    paths = [path for method, path, _ in fake.asked if method == "DELETE"]
    assert any("/tables/probe" in path for path in paths)
    assert "/tables" not in paths[-1], "the namespace goes last"
    assert "hush-4" not in str(by_check)


def test_a_folder_that_cannot_be_written_is_named(fake: FakeCatalog) -> None:
    fake.location = "file:///proc/lakehouse"
    finding = findings(fake.settings(access=None))["probe object"]
    assert (finding.state, "to write it failed" in finding.message) == ("wrong", True)


def test_a_catalog_that_commits_nothing_is_no_lake(fake: FakeCatalog) -> None:
    assert findings(fake.settings())["capability"].state == "wrong"


def test_an_embedded_catalog_is_tried_whole(tmp_path: Path) -> None:
    catalog = CatalogSettings(type="sql", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=(tmp_path / "w").as_uri())
    states = {finding.check: finding.state for finding in scratch_of_sql(catalog)}
    assert states == {"probe object": "well", "capability": "well"}
    assert list((tmp_path / "w").iterdir()) == []


@pytest.mark.rest
def test_a_catalog_that_ignores_branches_is_refused(rest_catalog_uri: str) -> None:
    branchless = CatalogSettings(type="rest", uri=f"{rest_catalog_uri}/branchless", warehouse="w")
    (finding,) = capability(branchless, "doctor")
    assert (finding.state, "ignores branches" in finding.message) == ("wrong", True)
    (kept,) = capability(branchless.model_copy(update={"uri": rest_catalog_uri}), "doctor")
    assert kept.state == "well"


class Interrupted(Exception):
    """A signal."""


def test_a_signal_leaves_neither_table_nor_namespace(fake: FakeCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = fake.settings()
    answers = RestAnswers(settings)
    assert not [finding for finding in login(answers, settings) if finding.state == "wrong"]
    examination = scratch_of_rest(answers, settings)
    next(examination)
    examination.close()  # as where its caller is interrupted
    assert [path.count("/") for method, path, _ in fake.asked if method == "DELETE"] == [6, 4]

    def interrupted(*_: object) -> None:
        raise Interrupted

    monkeypatch.setattr(answers, "make_table", interrupted)
    with pytest.raises(Interrupted):
        list(scratch_of_rest(answers, settings))
    assert [path.count("/") for method, path, _ in fake.asked if method == "DELETE"][2:] == [6, 4]
