"""Whose a credential is, asked of an STS and of a `tokeninfo` that a test plays."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from lakehouse.doctor.catalog.identity import of_aws, of_azure, of_google
from lakehouse.settings import CatalogSettings

_ARN = "arn:aws:sts::123456789012:assumed-role/lake/polaris"
_STS = (
    '<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>'
    f"<Arn>{_ARN}</Arn><UserId>AROA:polaris</UserId><Account>123456789012</Account>"
    "</GetCallerIdentityResult></GetCallerIdentityResponse>"
)
_GOOGLE = '{"email": "lake@p.iam.gserviceaccount.com", "scope": "rw"}'
_S3 = CatalogSettings(type="rest", uri="http://rest", warehouse="lake", storage="s3", region="eu-west-1")
_LENT = {"s3.access-key-id": "AKIA", "s3.secret-access-key": "hush-1", "s3.session-token": "hush-2"}


@pytest.fixture
def cloud() -> Iterator[str]:
    """Answers as AWS' STS and as Google's tokeninfo."""

    class _Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
            body = _STS if "GetCallerIdentity" in asked else _GOOGLE
            self.send_response(400 if "ended" in asked else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_aws_says_whose_it_is(cloud: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", cloud)
    assert of_aws(_LENT, _S3).message == f"the credential is of {_ARN}, in the account 123456789012"


def test_a_store_that_is_not_of_aws_is_not_asked_at_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL_STS", raising=False)
    assert of_aws({**_LENT, "s3.endpoint": "http://store:9000"}, _S3).state == "not asked"


def test_google_says_whose_it_is_or_nothing(cloud: str) -> None:
    finding = of_google("hush-3", cloud)
    assert "lake@p.iam.gserviceaccount.com; scope rw" in finding.message
    assert "hush-3" not in str(finding)
    assert of_google("ended", cloud).state == "not asked"


def test_a_sas_of_an_accounts_key_says_so() -> None:
    assert "an account's own key; it opens a container" in of_azure("sr=c&sp=rl&sig=hush").message
