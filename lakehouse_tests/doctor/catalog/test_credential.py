"""What is lent: expiry, header, location, region."""

import time

import pytest

from lakehouse.doctor.catalog.credential import credential, location_form, region
from lakehouse.doctor.finding import Diagnosis
from lakehouse.settings import CatalogSettings

SAS = "sv=2024-08-04&sr=d&sp=rwdl&skoid=oid-1&sktid=tenant-1&sig=hush"
HOST = "account.dfs.core.windows.net"
ABFSS = f"abfss://lake@{HOST}/t"


def rest(**keys: object) -> CatalogSettings:
    return CatalogSettings.model_validate({"type": "rest", "uri": "http://rest", "warehouse": "lake", **keys})


def in_seconds(seconds: float) -> str:
    return str(int((time.time() + seconds) * 1000))


def findings(lent: dict[str, str], settings: CatalogSettings, location: str = ABFSS) -> dict[str, Diagnosis]:
    return {finding.check: finding for finding in credential(lent, settings, location)}


def test_a_credential_says_whose_it_is_its_scope_and_its_end_and_never_its_value() -> None:
    lent = {f"adls.sas-token.{HOST}": SAS, f"adls.sas-token-expires-at-ms.{HOST}": in_seconds(3600)}
    by_check = findings(lent, rest(storage="adls", access="vended"))
    assert "principal oid-1 in the tenant tenant-1; it opens a directory" in by_check["identity"].message
    assert "s from now" in by_check["expiry"].message
    assert not [finding for finding in by_check.values() if finding.state != "well"]
    assert "hush" not in str(by_check)


def test_a_token_without_an_expiry_that_clients_know_is_named() -> None:
    finding = findings({"adls.sas-token": SAS}, rest(storage="adls", access="vended"))["expiry"]
    assert (finding.state, "without an expiry" in finding.message) == ("wrong", True)
    stray = findings({"adls.sas-token": SAS, "expiration-time": in_seconds(3600)}, rest(access="vended"))["expiry"]
    assert (stray.state, "expiration-time" in stray.message, "1.2" in stray.remedy) == ("wrong", True, True)


@pytest.mark.parametrize(("seconds", "state"), [(-5, "wrong"), (100, "warning")])
def test_one_that_has_ended_or_ends_soon_is_named(seconds: int, state: str) -> None:
    lent = {"adls.sas-token": SAS, f"adls.sas-token-expires-at-ms.{HOST}": in_seconds(seconds)}
    assert findings(lent, rest(access="vended"))["expiry"].state == state


def test_a_header_that_spark_would_not_send_is_named() -> None:
    finding = findings({"adls.sas-token": SAS}, rest(storage="adls"))["delegation"]
    assert "X-Iceberg-Access-Delegation is missing" in finding.message
    assert "access: vended" in finding.remedy
    written = rest(storage="adls", properties={"header.X-Iceberg-Access-Delegation": "vended-credentials"})
    assert "delegation" not in findings({"adls.sas-token": SAS}, written)


def test_nothing_lent_where_it_was_asked_for_is_named() -> None:
    finding = findings({}, rest(access="vended", storage="gcs"), "gs://lake/t")["credential"]
    assert (finding.state, "static" in finding.remedy) == ("wrong", True)
    assert findings({}, rest(access="static", storage="gcs"), "gs://lake/t")["credential"].state == "not asked"


@pytest.mark.parametrize(("kind", "state"), [("d", "wrong"), ("c", "warning")])
def test_wasbs_on_a_hierarchical_account_is_named(kind: str, state: str) -> None:
    lent = {"adls.sas-token": SAS.replace("sr=d", f"sr={kind}")}
    (finding,) = location_form("wasbs://lake@account.blob.core.windows.net/t", lent)
    assert (finding.state, "abfss://" in finding.remedy) == (state, True)
    assert list(location_form(ABFSS, lent)) == []


def test_another_region_than_the_catalogs_is_named() -> None:
    (finding,) = region({"client.region": "eu-west-1"}, rest(storage="s3", region="us-east-1"))
    assert (finding.state, "write region: eu-west-1" in finding.remedy) == ("wrong", True)
    (unsaid,) = region({}, rest(storage="s3"))
    assert unsaid.state == "warning"
