"""In order, and no further than makes sense."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lakehouse.doctor import Diagnosis, examination, examine
from lakehouse.doctor.catalog import scratch_table
from lakehouse.settings import CatalogSettings, Settings, load_settings
from lakehouse_tests.fixtures.fake_catalog import FakeCatalog
from lakehouse_tests.fixtures.spark import REPOSITORY


def _settings(tmp_path: Path, **update: object) -> Settings:
    return load_settings(REPOSITORY / "conf", {"LAKEHOUSE_HOME": str(tmp_path)}).model_copy(update=update)


def test_a_credential_that_is_wrong_already_is_not_sent(tmp_path: Path) -> None:
    with FakeCatalog() as fake:
        catalog = fake.settings(properties={"credential": "no-colon"})
        findings = list(examine(_settings(tmp_path, catalog=catalog)))
        assert fake.asked == []
    assert "credential" in {finding.check for finding in findings if finding.state == "wrong"}
    assert findings[-1].check == "reach"


def test_read_only_makes_nothing(tmp_path: Path) -> None:
    with FakeCatalog() as fake:
        findings = list(examine(_settings(tmp_path, catalog=fake.settings()), read_only=True))
        assert {path.split("?")[0] for _, path, _ in fake.asked} == {"/v1/oauth/tokens", "/v1/config"}
    assert [finding.state for finding in findings[-2:]] == ["not asked", "not asked"]


def test_a_lake_on_a_laptop_is_well_but_for_its_jars(tmp_path: Path) -> None:
    findings = list(examine(_settings(tmp_path)))
    assert {finding.check for finding in findings if finding.state == "wrong"} <= {"jars", "disk", "kafka port"}
    assert (findings[-1].check, findings[-1].state) == ("capability", "well")


def test_an_examination_that_fails_ends_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_: Settings) -> Iterator[Diagnosis]:
        raise OSError
        yield

    here = tuple((name, failing) for name, _ in examination._HERE)
    monkeypatch.setattr(examination, "_HERE", here)
    with FakeCatalog() as fake:
        monkeypatch.setattr(fake, "lent", {"s3.access-key-id": "AKIA"})
        monkeypatch.setattr(scratch_table, "credential", lambda *_: failing(_settings(tmp_path)))
        findings = list(examine(_settings(tmp_path, catalog=fake.settings())))
        assert ("DELETE", "/v1/lake/namespaces/") in {(method, path[:20]) for method, path, _ in fake.asked}
    states = {finding.check: finding.state for finding in findings}
    assert {name: states[name] for name, _ in here} == dict.fromkeys((name for name, _ in here), "wrong")
    assert (states["credential"], states["roles"], "probe object" in states) == ("wrong", "well", True)


def test_a_database_that_is_down_is_named_once_and_its_storage_is_asked_all_the_same(tmp_path: Path) -> None:
    catalog = CatalogSettings(
        type="sql", uri="postgresql+psycopg://me:hush@127.0.0.1:1/lake", warehouse=(tmp_path / "w").as_uri()
    )
    for read_only, probed in ((True, "not asked"), (False, "well")):
        findings = list(examine(_settings(tmp_path / "home", catalog=catalog), read_only=read_only))
        states = {finding.check: finding.state for finding in findings}
        assert (states["reach"], states["probe object"], states["capability"]) == ("wrong", probed, "not asked")
        assert (tmp_path / "w").exists() is not read_only


@pytest.mark.usefixtures("nobody_to_aws")
def test_a_catalog_of_signed_requests_is_asked_by_its_client(tmp_path: Path) -> None:
    with FakeCatalog() as fake:
        catalog = fake.settings(properties={"rest.sigv4-enabled": "true", "rest.signing-region": "eu-west-1"})
        findings = list(examine(_settings(tmp_path, catalog=catalog), read_only=True))
    (finding,) = [finding for finding in findings if finding.check == "login" and finding.state == "wrong"]
    assert "no identity to sign" in finding.message


def test_read_only_leaves_no_trace_of_a_lake(tmp_path: Path) -> None:
    findings = list(examine(_settings(tmp_path / "home"), read_only=True))
    assert "reach" in {finding.check for finding in findings if finding.state == "not asked"}
    assert not (tmp_path / "home").exists()
