"""A REST catalog that is silent, busy, or refuses one table: nobody waits without end, and all others are told."""

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest
from pyiceberg.exceptions import ServiceUnavailableError

from lakehouse.protocol.catalog import CatalogUnreachable, LakeCatalog, open_catalog
from lakehouse.protocol.catalog.rest_catalog import timeouts
from lakehouse.settings import CatalogSettings

SOON = 120.0


class Answers(BaseHTTPRequestHandler):
    """What a REST catalog says, by the table that is asked for; any other path is the configuration."""

    asked: ClassVar[Counter[str]] = Counter()

    def do_GET(self) -> None:
        name = self.path.rpartition("/")[2].partition("?")[0]
        self.asked[name] += 1
        status = {"forbidden": 403, "broken": 500, "busy": 503, "missing": 404}.get(name, 200)
        if name == "late" and self.asked[name] == 1:
            status = 503
        table = {"metadata-location": f"file:///{name}.json", "metadata": {"table-uuid": name, "location": "file:///"}}
        body = json.dumps(table if "/tables/" in self.path else {"defaults": {}, "overrides": {}}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Retry-After", "3600")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class names it
        """Say nothing."""


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch) -> Iterator[LakeCatalog]:
    monkeypatch.setattr(timeouts, "_BACKOFF_SECONDS", 0.01)
    Answers.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield open_catalog(settings(server.server_port))
        server.shutdown()
        thread.join()


def settings(port: int) -> CatalogSettings:
    return CatalogSettings(type="rest", uri=f"http://127.0.0.1:{port}", warehouse="file:///w")


def test_a_silent_catalog_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeouts, "TIMEOUT_SECONDS", (1.0, 0.1))
    monkeypatch.setattr(timeouts, "_BACKOFF_SECONDS", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        ended: list[BaseException] = []

        def ask() -> None:
            try:
                open_catalog(settings(silent.getsockname()[1]))
            except CatalogUnreachable as error:
                ended.append(error)

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        thread.join(SOON)
        assert ended, f"it still waits after {SOON:.0f} s"


def test_one_table_that_is_refused_hides_no_other(catalog: LakeCatalog) -> None:
    names = ["good", "forbidden", "broken", "missing", "also_good"]
    locations = catalog.locations([("n", name) for name in names])
    assert locations.known == {("n", "good"): "file:///good.json", ("n", "also_good"): "file:///also_good.json"}
    assert locations.refused == {
        ("n", "forbidden"): "the catalog answered 403",
        ("n", "broken"): "the catalog answered 500",
    }


def test_a_busy_catalog_is_asked_again_and_not_for_ever(catalog: LakeCatalog) -> None:
    began = time.monotonic()
    locations = catalog.locations([("n", "late"), ("n", "busy")])
    assert locations.known == {("n", "late"): "file:///late.json"}
    assert locations.refused == {("n", "busy"): "the catalog answered 503"}
    assert (Answers.asked["late"], Answers.asked["busy"]) == (2, 3)
    with pytest.raises(ServiceUnavailableError):
        catalog.load_table(("n", "busy"))
    assert time.monotonic() - began < SOON, "a server says how long it is waited for"
