"""RestAnswer by answer: address, clock, realm, login, warehouse."""

import socket
from collections.abc import Iterator

import pytest

from lakehouse.doctor.catalog.login import clock, login
from lakehouse.doctor.catalog.rest_answers import RestAnswers
from lakehouse.doctor.finding import Diagnosis
from lakehouse.settings import CatalogSettings
from lakehouse_tests.fixtures.fake_catalog import FakeCatalog


@pytest.fixture
def fake() -> Iterator[FakeCatalog]:
    with FakeCatalog() as running:
        yield running


def findings(settings: CatalogSettings) -> dict[str, Diagnosis]:
    return {finding.check: finding for finding in login(RestAnswers(settings), settings)}


def test_all_is_well(fake: FakeCatalog) -> None:
    states = {check: finding.state for check, finding in findings(fake.settings()).items()}
    assert states == dict.fromkeys(["reach", "clock", "login", "warehouse"], "well")


def test_a_wrong_realm_is_named(fake: FakeCatalog) -> None:
    by_check = findings(fake.settings(realm="polaris"))
    assert by_check["realm"].message == "The catalog does not know the realm polaris."
    assert "polaris.realm-context.realms" in by_check["realm"].remedy
    assert "warehouse" not in by_check


def test_a_refused_credential_is_not_repeated(fake: FakeCatalog) -> None:
    by_check = findings(fake.settings(properties={"credential": "ingest:hush-2"}))
    assert by_check["login"].state == "wrong"
    assert "rotated" in by_check["login"].remedy
    assert "hush-2" not in str(by_check), "the server repeats it"


@pytest.mark.parametrize(("seconds_behind", "side"), [(600, "ahead of"), (-600, "behind")])
def test_a_clock_ten_minutes_off_is_named(fake: FakeCatalog, seconds_behind: int, side: str) -> None:
    fake.seconds_behind = seconds_behind
    finding = findings(fake.settings())["clock"]
    assert (finding.state, side in finding.message, "NTP" in finding.remedy) == ("wrong", True, True)


def test_a_minute_is_no_matter() -> None:
    assert clock(59).state == clock(-59).state == "well"


def test_nobody_there_and_no_login_given(fake: FakeCatalog) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        silent = fake.settings(uri=f"http://127.0.0.1:{taken.getsockname()[1]}")
        assert "connection refused" in findings(silent)["reach"].message
    assert findings(fake.settings(properties={}))["login"].message.startswith("The catalog wants a login")


@pytest.mark.parametrize("body", ["<html>Log in</html>", {"access_token": ""}])
def test_a_page_in_the_place_of_a_token_is_no_login(
    fake: FakeCatalog, body: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake, "answer", lambda *_: (200, body))
    by_check = findings(fake.settings())
    assert (by_check["login"].state, "no token endpoint" in by_check["login"].message) == ("wrong", True)
    assert "warehouse" not in by_check
