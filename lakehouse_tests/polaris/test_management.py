"""One request, one answer, one clear error; no secret in any of them."""

import traceback
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from lakehouse.polaris import PolarisApi, PolarisRefused, PolarisServer
from lakehouse.polaris.management import PolarisRequest, management
from lakehouse_tests.polaris.played_server import ROOT, ROOT_SECRET, PlayedPolaris


def test_what_is_not_allowed_in_an_address_is_quoted() -> None:
    assert management("GET", "principals", "a b/../c").address == "api/management/v1/principals/a%20b%2F..%2Fc"


def test_it_logs_in_once(played: PlayedPolaris, api: PolarisApi) -> None:
    for _ in range(2):
        api.tell(management("GET", "catalogs"))
    assert [exchange.path for exchange in played.exchanges].count("/api/catalog/v1/oauth/tokens") == 1


def refusal(api: PolarisApi) -> str:
    with pytest.raises(PolarisRefused) as refused:
        api.ask(management("GET", "catalogs"), dict[str, Any])
    shown = "".join(traceback.format_exception(refused.value))
    assert ROOT_SECRET not in shown
    assert "wrong-s3cret" not in shown
    assert "Remedy: " in str(refused.value)
    return str(refused.value)


def test_a_wrong_credential_is_told_without_it(server: PolarisServer) -> None:
    message = refusal(PolarisApi(server, f"{ROOT}:wrong-s3cret"))
    assert "gives no token for the credential (401 unauthorized_client: The client root-id with …)" in message
    assert "not id:secret" in refusal(PolarisApi(server, "wrong-s3cret"))


def test_a_wrong_realm_is_told(played: PlayedPolaris, server: PolarisServer) -> None:
    played.realm = "OTHER"
    assert "MissingOrInvalidRealm" in refusal(PolarisApi(server))


def test_a_no_is_told_with_what_was_asked(played: PlayedPolaris, applied: PlayedPolaris, server: PolarisServer) -> None:
    client, (secret, *_) = played.secrets["lake-reader"]
    message = refusal(PolarisApi(server, f"{client}:{secret}"))
    assert "refuses GET /api/management/v1/catalogs (403 ForbiddenException" in message
    assert "service_admin" in message


def test_nobody_at_the_address(declare: Callable[..., PolarisServer], played: PlayedPolaris) -> None:
    server = declare((played.url, "http://127.0.0.1:9"))
    assert "http://127.0.0.1:9 does not answer: connection refused" in refusal(PolarisApi(server))


def test_another_answer_is_none_of_polaris(played: PlayedPolaris, api: PolarisApi) -> None:
    class Other(msgspec.Struct):
        nothing: str

    with pytest.raises(PolarisRefused, match="is none of Polaris") as refused:
        api.ask(management("GET", "catalogs"), Other)
    assert refused.value.__context__ is None


def test_what_is_not_there_is_no_error_where_that_is_asked(api: PolarisApi, applied: PlayedPolaris) -> None:
    path = ("api", "catalog", "v1", "lake_aws", "namespaces")
    assert api.has(PolarisRequest("HEAD", (*path, "raw")))
    assert not api.has(PolarisRequest("HEAD", (*path, "nosuch")))
