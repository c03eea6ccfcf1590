"""What answers in a catalog's place, or repeats what it was sent: nothing of it is believed, or shown."""

import json
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from pydantic import ValidationError
from pyiceberg.exceptions import (
    CommitStateUnknownException,
    ForbiddenError,
    NamespaceAlreadyExistsError,
    NoSuchTableError,
    RESTError,
)
from requests import RequestException

from lakehouse.errors import LakehouseError, with_causes
from lakehouse.protocol.catalog import LakeCatalog, TableChange, open_catalog
from lakehouse.protocol.catalog.rest_catalog import timeouts
from lakehouse.protocol.catalog.rest_catalog.rest_responses import CommitRefusedByCatalog
from lakehouse.protocol.catalog.rest_catalog.rest_session import RedirectedElsewhere
from lakehouse.settings import CatalogSettings

SECRET = "HUNTER2"
PAGE = (200, f"<html>{SECRET}</html>")
CHANGES = [TableChange(("raw", "a"), (), ())]
ERROR = json.dumps({"error": {"message": SECRET, "type": "NoSuchTableException", "code": 1}})
LENT = {"s3.secret-access-key": SECRET, "s3.session-token": SECRET}


class Answering(ThreadingHTTPServer):
    """A server that answers all but the configuration as the test says: status, content, other headers."""

    daemon_threads = True
    answer: tuple[int, str] = (200, "{}")
    headers: dict[str, str]
    config: dict[str, Any]
    asked = 0

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.headers, self.config = {}, {"defaults": {}, "overrides": {}}

    @property
    def uri(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Answering

    def _serve(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked += 1
        asked = self.path.partition("?")[0]
        if asked.endswith("/v1/config"):
            status, text, headers = 200, json.dumps(self.server.config), dict[str, str]()
        elif asked == "/elsewhere":
            status, text, headers = 204, "", dict[str, str]()
        else:
            (status, text), headers = self.server.answer, self.server.headers
        content = text.encode()
        self.send_response(status, SECRET if status >= 400 else None)
        for key, value in headers.items():
            self.send_header(key, value)
        if status != 204:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_DELETE = do_HEAD = _serve  # noqa: N815 - as the base class calls them

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class names it
        """Say nothing."""


@contextmanager
def serving(server: Answering) -> Generator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield
    server.shutdown()
    thread.join()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Answering]:
    monkeypatch.setattr(timeouts, "_BACKOFF_SECONDS", 0.01)
    with Answering() as server, serving(server):
        yield server


def logging_in(server: Answering) -> CatalogSettings:
    return CatalogSettings.model_validate(
        {"type": "rest", "uri": server.uri, "warehouse": "w", "properties": {"credential": "a:b"}, "storage": "s3"}
    )


@pytest.fixture
def catalog(server: Answering) -> LakeCatalog:
    return open_catalog(CatalogSettings(type="rest", uri=server.uri, warehouse="file:///w"))


@pytest.mark.parametrize("answer", [PAGE, (200, "{}"), (201, ""), (202, "")], ids=["page", "json", "201", "202"])
def test_only_what_says_that_it_was_done_counts_as_done(
    server: Answering, catalog: LakeCatalog, answer: tuple[int, str]
) -> None:
    server.answer = answer
    with pytest.raises(CommitStateUnknownException, match=f"raw.a: the catalog answered {answer[0]}"):
        catalog.commit_tables(CHANGES)
    server.answer = (204, "")
    catalog.commit_tables(CHANGES)


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_commit_that_is_sent_elsewhere_to_be_read_is_not_done(
    server: Answering, catalog: LakeCatalog, status: int
) -> None:
    server.answer, server.headers = (status, ""), {"Location": "/elsewhere"}
    with pytest.raises(CommitStateUnknownException, match="RedirectedElsewhere"):
        catalog.commit_tables(CHANGES)
    with pytest.raises(RedirectedElsewhere, match=f"answered {status}"):
        catalog.create_namespace("new")


def test_a_commit_that_is_sent_elsewhere_as_it_is_can_be_done(server: Answering, catalog: LakeCatalog) -> None:
    server.answer, server.headers = (308, ""), {"Location": "/elsewhere"}
    catalog.commit_tables(CHANGES)


@pytest.mark.parametrize("status", [302, 307])
def test_nothing_is_sent_to_another_host(server: Answering, catalog: LakeCatalog, status: int) -> None:
    with Answering() as elsewhere, serving(elsewhere):
        server.answer, server.headers = (status, ""), {"Location": f"{elsewhere.uri}/elsewhere"}
        for ask in (lambda: catalog.load_table(("raw", "a")), lambda: open_catalog(logging_in(server))):
            with pytest.raises((RequestException, LakehouseError), match=f"answered {status}, and names another"):
                ask()
        assert elsewhere.asked == 0


def test_an_answer_that_is_none_is_not_read_as_the_next_ones(server: Answering, catalog: LakeCatalog) -> None:
    server.answer = (103, "")
    with pytest.raises(RedirectedElsewhere, match="answered 103, which is no answer"):
        catalog.load_table(("raw", "a"))


def test_an_error_without_end_is_an_error(server: Answering, catalog: LakeCatalog) -> None:
    server.answer = (403, '{"error":{"x":' + "[" * 100_000)
    with pytest.raises(ForbiddenError):
        catalog.load_table(("raw", "a"))
    assert catalog.locations([("raw", "a")]).refused == {("raw", "a"): "the catalog answered 403"}


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 419, 422, 429, 500, 503])
@pytest.mark.parametrize(
    "text", [ERROR, f"<html>{SECRET}</html>", json.dumps({"error": SECRET})], ids=["error", "page", "oauth"]
)
def test_the_words_of_a_server_go_no_further(server: Answering, catalog: LakeCatalog, status: int, text: str) -> None:
    server.answer = (status, text)
    for ask in (lambda: catalog.load_table(("raw", "a")), lambda: catalog.create_namespace("new")):
        with pytest.raises((RESTError, LakehouseError, NoSuchTableError, NamespaceAlreadyExistsError)) as error:
            ask()
        assert SECRET not in "".join(map(str, with_causes(error.value)))


def test_a_missing_table_is_missing(server: Answering, catalog: LakeCatalog) -> None:
    server.answer = (404, ERROR)
    with pytest.raises(NoSuchTableError, match="NoSuchTableException: the catalog answered 404"):
        catalog.load_table(("raw", "a"))
    with pytest.raises(CommitRefusedByCatalog, match=r"404 \(NoSuchTableException\)"):
        catalog.commit_tables(CHANGES)


@pytest.mark.parametrize("listed", [True, False])
def test_a_table_that_is_listed_and_not_shown_is_unreadable(
    server: Answering,
    catalog: LakeCatalog,
    monkeypatch: pytest.MonkeyPatch,
    listed: bool,
) -> None:
    server.answer = (404, ERROR)
    monkeypatch.setattr(catalog, "_tables", lambda _: [("raw", "a")])
    monkeypatch.setattr(catalog, "list_tables", lambda _: [("raw", "a")] if listed else [])
    assert [entry.unreadable for entry in catalog.entries()] == [
        "the catalog lists it, and says that it does not exist"
    ] * listed


@pytest.mark.parametrize("answer", [{"config": LENT}, {"config": LENT, "metadata": LENT}, {"metadata": {}, **LENT}])
def test_an_answer_that_is_none_shows_no_key(server: Answering, catalog: LakeCatalog, answer: dict[str, Any]) -> None:
    server.answer = (200, json.dumps(answer))
    with pytest.raises(ValidationError) as error:
        catalog.load_table(("raw", "a"))
    assert SECRET not in "".join(map(str, with_causes(error.value)))


@pytest.mark.parametrize("token", [f"{SECRET}\nX: y", f"{SECRET}…"])
def test_a_token_that_no_header_takes_is_not_shown(server: Answering, token: str) -> None:
    server.answer = (200, json.dumps({"access_token": token, "token_type": "bearer"}))
    with pytest.raises((LakehouseError, RequestException), match="a line break or a letter that no header") as error:
        open_catalog(logging_in(server)).load_table(("raw", "a"))
    assert SECRET not in "".join(map(str, with_causes(error.value)))
