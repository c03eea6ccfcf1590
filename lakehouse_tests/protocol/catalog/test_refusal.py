"""A catalog that is away, refuses, or is none: one line with its address and the remedy, and no secret."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from pyiceberg.exceptions import CommitFailedException

from lakehouse.errors import LakehouseError
from lakehouse.protocol.catalog import (
    CatalogRefused,
    CatalogUnreachable,
    TableMissing,
    catalog_refusal,
    open_catalog,
)
from lakehouse.protocol.catalog.refusal import CatalogUnopened, address_of
from lakehouse.protocol.catalog.rest_catalog import timeouts
from lakehouse.settings import CatalogSettings
from lakehouse.settings.installed_package import ExtraMissing

SECRET = "hunter2"
REST = CatalogSettings(type="rest", uri="http://127.0.0.1:1", warehouse="lake")
GLUE = {"type": "glue", "uri": "", "warehouse": "s3://b", "region": "eu-central-1"}
Answers = Callable[[int, str], str]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """How often a silent catalog is asked again is the business of other tests."""
    monkeypatch.setattr(timeouts, "_TRIES_MORE", 0)


@pytest.fixture
def answering() -> Iterator[Answers]:
    """A server that answers everything alike; returns its address."""
    answer = [200, ""]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = str(answer[1]).encode()
            self.send_response(int(answer[0]))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - the standard library's name

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the standard library's name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    def serve(status: int, body: str) -> str:
        answer[:] = [status, body]
        return f"http://127.0.0.1:{server.server_port}"

    yield serve
    server.shutdown()
    thread.join()
    server.server_close()


def refused(uri: str, **properties: str) -> LakehouseError:
    kind = "rest" if uri.startswith("http") else "sql"
    with pytest.raises(LakehouseError) as caught:
        open_catalog(CatalogSettings(type=kind, uri=uri, warehouse="lake", properties=dict(properties)))
    refusal = caught.value
    assert refusal.remedy
    assert "\n" not in str(refusal)
    # What travels along is printed by Dagster, and by whoever logs the error.
    assert refusal.__cause__ is None
    assert refusal.__context__ is None or refusal.__suppress_context__
    assert SECRET not in str(refusal)
    return refusal


@pytest.mark.parametrize(
    ("uri", "kind", "message"),
    [
        ("http://127.0.0.1:1", CatalogUnreachable, "The catalog at http://127.0.0.1:1 does not answer: connection ref"),
        (f"http://me:{SECRET}@127.0.0.1:1/p?token={SECRET}", CatalogUnreachable, "at http://127.0.0.1:1/p does not an"),
        ("http://nosuch.invalid", CatalogUnreachable, "does not answer: nobody knows its name."),
        (
            f"postgresql+psycopg://me:{SECRET}@127.0.0.1:1/lake",
            CatalogUnreachable,
            "The database 127.0.0.1:1/lake of the catalog does not do what is asked: connection failed: connection to",
        ),
        (
            f"postgresql+nosuch://me:{SECRET}@127.0.0.1/lake",
            ExtraMissing,
            "postgresql+nosuch, is not installed",
        ),
    ],
)
def test_that_cannot_be_reached(uri: str, kind: type[LakehouseError], message: str) -> None:
    refusal = refused(uri)
    assert isinstance(refusal, kind)
    assert message in refusal.message


@pytest.mark.parametrize("password", [f"{SECRET}@{SECRET}", f"{SECRET}/{SECRET}", f"{SECRET}@{SECRET}@"])
def test_a_password_is_not_shown_however_it_is_written(password: str) -> None:
    rest = REST.model_copy(update={"uri": f"https://me:{password}@host:8181/p#{SECRET}"})
    assert address_of(rest) == "https://host:8181/p"
    sql = CatalogSettings(type="sql", uri=f"postgresql+psycopg://me:{password}@host:5/lake", warehouse="lake")
    assert address_of(sql) == "host:5/lake"


@pytest.mark.parametrize(
    ("status", "body", "kind", "message"),
    [
        (200, f"<html>{SECRET}", CatalogRefused, "is no Iceberg REST catalog"),
        (200, "[]", CatalogRefused, "is no Iceberg REST catalog"),
        (401, f'{{"error": {{"message": "{SECRET}", "type": "x", "code": 401}}}}', CatalogRefused, "credentials (401)"),
        (403, "", CatalogRefused, "refuses our credentials (403)"),
        (404, "", CatalogRefused, "answered 404"),
        (500, SECRET, CatalogRefused, "answered 500"),
        (503, "", CatalogRefused, "answered 503"),
    ],
)
def test_that_does_not_do_what_is_asked(
    answering: Answers, status: int, body: str, kind: type[LakehouseError], message: str
) -> None:
    uri = answering(status, body)
    refusal = refused(uri)
    assert isinstance(refusal, kind)
    assert message in refusal.message
    assert uri in refusal.message


def test_that_gives_no_token(answering: Answers) -> None:
    uri = answering(401, f'{{"error": "invalid_client", "error_description": "{SECRET}"}}')
    assert (
        "refuses our credentials (401)"
        in refused(uri, credential=f"me:{SECRET}", **{"oauth2-server-uri": f"{uri}/tokens"}).message
    )


def test_that_speaks_no_tls(answering: Answers) -> None:
    assert "does not answer: TLS: " in refused(answering(200, "{}").replace("http:", "https:")).message


@contextmanager
def silence() -> Iterator[str]:
    """A server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeouts, "TIMEOUT_SECONDS", (0.1, 0.1))
    with silence() as uri:
        assert "does not answer: it was waited for too long." in refused(uri).message


def test_that_goes_away_later(answering: Answers) -> None:
    settings = REST.model_copy(update={"uri": answering(200, "{}")})
    catalog = open_catalog(settings)
    answering(503, SECRET)
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever PyIceberg makes of it
        catalog.list_namespaces()
    refusal = catalog_refusal(caught.value, settings)
    assert isinstance(refusal, CatalogRefused)
    assert "answered 503" in refusal.message
    assert SECRET not in str(refusal)


def test_a_table_that_is_missing(tmp_path: Path) -> None:
    settings = CatalogSettings(type="sql", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/w")
    catalog = open_catalog(settings)
    for name in ("raw.nothing", "nothing"):
        with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever PyIceberg makes of it
            catalog.load_table(name)
        refusal = catalog_refusal(caught.value, settings)
        assert isinstance(refusal, TableMissing)
        assert name in refusal.message
    catalog.close()


def test_what_lost_a_race_is_to_be_run_again() -> None:
    refusal = catalog_refusal(CommitFailedException("main has moved"), REST)
    assert str(refusal) == "Another commit came first: main has moved. Remedy: run it again"


def test_an_error_of_the_program_is_none_of_the_catalogs() -> None:
    assert catalog_refusal(ZeroDivisionError(), REST) is None
    assert catalog_refusal(KeyError("x"), REST.model_copy(update={"type": "sql", "uri": "sqlite:///x"})) is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"properties": {"echo": SECRET}}, "ValueError in pyiceberg.types, about properties.echo"),
        ({"properties": {"pool_pre_ping": SECRET}}, "about properties.pool_pre_ping"),
        ({"uri": f"sqlite:////{{folder}}/c.db?timeout={SECRET}"}, "c.db cannot be opened: ValueError in .*, about uri"),
        ({"uri": f"postgresql+psycopg://me:{SECRET}@a..b/db"}, "The catalog at a..b:5432/db cannot be opened: Unicode"),
        (
            {**GLUE, "properties": {"glue.skip-archive": SECRET}},
            "eu-central-1 cannot be opened: .* in pyiceberg.utils.properties, about properties.glue.skip-archive",
        ),
        (
            {**GLUE, "properties": {"glue.max-retries": SECRET}},
            "AWS Glue, eu-central-1 cannot be opened: ValueError in .*glue, about properties.glue.max-retries",
        ),
    ],
)
def test_what_nobody_foresaw_is_named_by_its_kind_and_key(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    written = {"type": "sql", "uri": f"sqlite:///{tmp_path}/c.db", "warehouse": f"{tmp_path}/w", **changes}
    settings = CatalogSettings.model_validate(written | {"uri": str(written["uri"]).replace("{folder}", str(tmp_path))})
    with pytest.raises(CatalogUnopened, match=message) as caught:
        open_catalog(settings)
    assert caught.value.__context__ is None
    assert SECRET not in str(caught.value)
    assert "in its file of conf/catalogs" in caught.value.remedy


@pytest.mark.parametrize("body", ['{"defaults": null, "overrides": {}}', '{"defaults": {"ssl": "hunter2"}}'])
def test_an_answer_that_the_client_does_not_understand(answering: Answers, body: str) -> None:
    refusal = refused(answering(200, body))
    assert isinstance(refusal, CatalogUnopened)
    assert "cannot be opened: AttributeError in pyiceberg.catalog.rest" in refusal.message


@pytest.mark.parametrize(
    ("body", "properties"),
    [
        ("{}", {"token": f"{SECRET}\u20ac"}),
        ("{}", {"header.X": f"{SECRET}\u20ac"}),
        (f'{{"access_token": "{SECRET}\\n{SECRET}", "token_type": "bearer"}}', {"credential": f"id:{SECRET}"}),
    ],
)
def test_a_header_that_http_does_not_take(answering: Answers, body: str, properties: dict[str, str]) -> None:
    refusal = refused(answering(200, body), **properties)
    assert isinstance(refusal, CatalogRefused)
    assert "has a line break or a letter that no header takes" in refusal.message


def test_a_terminal_that_shows_ascii_alone_is_no_business_of_the_catalog() -> None:
    with pytest.raises(UnicodeEncodeError) as caught:
        "\u20ac".encode("ascii")
    assert catalog_refusal(caught.value, REST) is None


def test_requests_that_nobody_can_sign(answering: Answers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    refusal = refused(answering(200, "{}"), **{"rest.sigv4-enabled": "true", "rest.signing-region": "eu-central-1"})
    assert "there is no identity to sign them" in refusal.message
