"""Dagster's real application behind our guard: what another web page can send, and what its own page sends."""

import json
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import dagster as dg
import httpx
import pytest
import uvicorn
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import EmptyWorkspaceTarget
from dagster._daemon.asset_daemon import get_auto_materialize_paused, set_auto_materialize_paused
from dagster_webserver.webserver import DagsterWebserver
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from lakehouse.orchestration.web.server import GuardedWebserver
from lakehouse_tests.fixtures.spark import free_port

HOST = "127.0.0.1"
PAUSE = "mutation { setAutoMaterializePaused(paused: true) }"
VERSION = "{ version }"
CROSS_SITE = {"origin": "https://evil.example", "sec-fetch-site": "cross-site"}
# What a browser says for a page of another site; old ones say less. `PORT` is the server's.
OTHER_PAGES = [
    CROSS_SITE,
    {"origin": "https://evil.example"},
    {"origin": "http://127.0.0.1:1"},
    {"origin": "http://127.0.0.1:PORT.evil.example"},
    {"origin": "http://localhost:PORT"},
    {"origin": "null"},
    {"origin": "ftp://127.0.0.1:PORT"},
    {"origin": "http://[::1"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
]


@contextmanager
def served(server: DagsterWebserver[Any, Any], port: int) -> Generator[httpx.Client]:
    """Serve Dagster's application in this process."""
    http = uvicorn.Server(uvicorn.Config(server.create_asgi_app(), host=HOST, port=port, log_level="error"))
    thread = threading.Thread(target=http.run)
    thread.start()
    try:
        while not http.started:
            assert thread.is_alive()
            time.sleep(0.01)
        with httpx.Client(base_url=f"http://{HOST}:{port}") as client:
            yield client
    finally:
        http.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.local_temp() as instance:
        yield instance


@pytest.fixture(scope="module")
def guarded(instance: dg.DagsterInstance) -> Iterator[httpx.Client]:
    with (
        WorkspaceProcessContext(instance, EmptyWorkspaceTarget()) as context,
        served(GuardedWebserver(context, HOST), free_port()) as client,
    ):
        yield client


@pytest.fixture
def browser(guarded: httpx.Client, instance: dg.DagsterInstance) -> httpx.Client:
    """What can send anything to the guarded server; nothing was changed yet."""
    set_auto_materialize_paused(instance, paused=False)
    return guarded


def paused(instance: dg.DagsterInstance) -> bool:
    return get_auto_materialize_paused(instance)


def own_page(browser: httpx.Client) -> dict[str, str]:
    """What a browser says for the server's own page."""
    return {"origin": str(browser.base_url).rstrip("/"), "sec-fetch-site": "same-origin"}


def with_port(headers: dict[str, str], browser: httpx.Client) -> dict[str, str]:
    return {name: value.replace("PORT", str(browser.base_url.port)) for name, value in headers.items()}


def test_its_own_page_and_local_programs_change_things(browser: httpx.Client, instance: dg.DagsterInstance) -> None:
    done = browser.post("/graphql", json={"query": PAUSE}, headers=own_page(browser))
    assert done.json() == {"data": {"setAutoMaterializePaused": True}}
    assert paused(instance)
    set_auto_materialize_paused(instance, paused=False)
    assert browser.post("/graphql", json={"query": PAUSE}).status_code == 200
    assert paused(instance)


@pytest.mark.parametrize("host", ["localhost:3000", "LOCALHOST:3000", "[::1]:3000", "127.0.0.1"])
def test_it_is_called_by_the_names_of_this_machine(browser: httpx.Client, host: str) -> None:
    headers = {"host": host, "origin": f"http://{host}"}
    assert browser.post("/graphql", json={"query": VERSION}, headers=headers).status_code == 200


@pytest.mark.parametrize("page", OTHER_PAGES, ids=lambda page: "-".join(page.values()))
def test_another_page_starts_nothing(browser: httpx.Client, instance: dg.DagsterInstance, page: dict[str, str]) -> None:
    headers = with_port(page, browser)
    answer = browser.post("/graphql", json={"query": PAUSE}, headers=headers)
    assert answer.status_code == 403
    assert "another web page" in answer.text
    assert browser.get("/graphql", params={"query": VERSION}, headers=headers).status_code == 403
    assert browser.post("/report_asset_materialization/a", json={}, headers=headers).status_code == 403
    with pytest.raises(InvalidStatus), connect(_socket(browser), additional_headers=headers):
        pass
    assert not paused(instance)


@pytest.mark.parametrize("host", ["evil.example:3000", "127.0.0.1.evil.example", "127.0.0.1@evil.example", "", "[::1"])
def test_a_name_that_was_pointed_here_is_not_answered(
    browser: httpx.Client, instance: dg.DagsterInstance, host: str
) -> None:
    headers = {"host": host, "origin": f"http://{host}", "sec-fetch-site": "same-origin"}
    answer = browser.post("/graphql", json={"query": PAUSE}, headers=headers)
    assert answer.status_code == 403
    assert "called by 127.0.0.1" in answer.text
    assert browser.get("/server_info", headers={"host": host}).status_code == 403
    assert not paused(instance)


@pytest.mark.parametrize(
    "content_type",
    ["", "text/plain", "text/plain; application/json", "application/graphql", "application/x-www-form-urlencoded"],
)
def test_what_a_form_can_send_changes_nothing(
    browser: httpx.Client, instance: dg.DagsterInstance, content_type: str
) -> None:
    headers = {"content-type": content_type} if content_type else {}
    sent = [("/graphql", {}, json.dumps({"query": PAUSE})), ("/graphql", {"query": PAUSE}, "")]
    for path, params, content in [*sent, ("/report_asset_materialization/a", {}, "")]:
        answer = browser.post(path, params=params, content=content, headers=headers)
        assert answer.status_code == 403
        assert "application/json" in answer.text
    assert not paused(instance)


@pytest.mark.parametrize("query", [PAUSE, f"query a {VERSION} {PAUSE}", f"{PAUSE} query a {VERSION}"])
def test_a_get_reads_alone(browser: httpx.Client, instance: dg.DagsterInstance, query: str) -> None:
    for params in ({"query": query}, {"query": query, "operationName": "a"}):
        answer = browser.get("/graphql", params=params)
        assert answer.status_code == 405
        assert "POST" in answer.text
    assert not paused(instance)
    assert "version" in browser.get("/graphql", params={"query": VERSION}).json()["data"]
    assert browser.get("/graphql", params={"query": "{"}).status_code == 400


def test_a_link_from_elsewhere_opens_a_page_and_no_frame_does(browser: httpx.Client) -> None:
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    page = browser.get("/runs", headers={**link, "accept": "text/html"})
    assert (page.status_code, page.headers["x-frame-options"]) == (200, "SAMEORIGIN")
    assert browser.get("/runs", headers={**link, "sec-fetch-dest": "iframe"}).status_code == 403
    assert browser.get("/graphql", params={"query": PAUSE}, headers=link).status_code == 405


def test_its_own_page_is_told_of_news(browser: httpx.Client) -> None:
    own = Origin(own_page(browser)["origin"])
    with connect(_socket(browser), origin=own, subprotocols=["graphql-ws"]) as socket:  # pyright: ignore[reportArgumentType]
        socket.send(json.dumps({"type": "connection_init"}))
        assert json.loads(socket.recv()) == {"type": "connection_ack"}


def test_read_only_shows_and_changes_nothing(instance: dg.DagsterInstance) -> None:
    set_auto_materialize_paused(instance, paused=False)
    with (
        WorkspaceProcessContext(instance, EmptyWorkspaceTarget(), read_only=True) as context,
        served(GuardedWebserver(context, HOST), free_port()) as browser,
    ):
        assert browser.post("/graphql", json={"query": VERSION}).status_code == 200
        assert "Unauthorized" in browser.post("/graphql", json={"query": PAUSE}).text
        assert browser.post("/report_asset_materialization/a", json={}).status_code == 401
    assert not paused(instance)


def test_dagsters_own_server_needs_the_guard(instance: dg.DagsterInstance) -> None:
    """If it does not any more, the guard can go."""
    set_auto_materialize_paused(instance, paused=False)
    with (
        WorkspaceProcessContext(instance, EmptyWorkspaceTarget()) as context,
        served(DagsterWebserver(context), free_port()) as browser,
    ):
        browser.get("/graphql", params={"query": PAUSE}, headers={"host": "evil.example", **CROSS_SITE})
    assert paused(instance)


def _socket(browser: httpx.Client) -> str:
    return f"ws://{HOST}:{browser.base_url.port}/graphql"
