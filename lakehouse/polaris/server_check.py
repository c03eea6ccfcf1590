"""Is the server well, and new enough? Polaris tells its version to nobody: what it offers tells the least it can be."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import msgspec
from requests import RequestException, Session

from lakehouse.polaris.declared.server import PolarisServer
from lakehouse.polaris.management import CATALOG, PolarisApi, PolarisRequest, management
from lakehouse.protocol.catalog.rest_catalog.timeouts import patient

FLOOR = (1, 7)
"""Releases before have published vulnerabilities, or lend credentials with other keys than ours looks for."""
_SINCE_1_6 = "register-view"
_SINCE_1_7 = "semantic-models"


@dataclass(frozen=True)
class ServerFinding:
    """What was found of one thing.

    Attributes:
        check: what was looked at.
        state: how it is.
        message: one sentence.
        remedy: what to do, where it is not well.
    """

    check: str
    state: Literal["well", "wrong", "not asked"]
    message: str
    remedy: str = ""


class _Check(msgspec.Struct):
    name: str = ""
    status: str = ""


class _Health(msgspec.Struct):
    status: str
    checks: list[_Check] = []


class _Config(msgspec.Struct):
    endpoints: list[str] = []


class _Catalog(msgspec.Struct):
    name: str


class _Catalogs(msgspec.Struct):
    catalogs: list[_Catalog]


def check_server(api: PolarisApi, server: PolarisServer) -> Iterator[ServerFinding]:
    """Health, then version.

    Raises:
        PolarisRefused: the server does not let us in.
    """
    yield _health(server)
    yield from _versions(api, server)


def _health(server: PolarisServer) -> ServerFinding:
    if server.health is None:
        return ServerFinding("health", "not asked", "the file names no `health`, the address of the management port")
    session = Session()
    patient(session)
    url = f"{server.health.rstrip('/')}/q/health"
    try:
        answer = session.get(url, allow_redirects=False)
        health = msgspec.json.decode(answer.content, type=_Health)
    except (RequestException, msgspec.MsgspecError) as error:
        return ServerFinding(
            "health", "wrong", f"{url} says nothing of its health ({type(error).__name__}).", "correct `health`"
        )
    if health.status == "UP":
        return ServerFinding("health", "well", f"{url} says UP")
    down = ", ".join(check.name for check in health.checks if check.status != "UP") or "no part by name"
    return ServerFinding("health", "wrong", f"{url} says {health.status}: {down}.", "see the log of Polaris")


def _versions(api: PolarisApi, server: PolarisServer) -> Iterator[ServerFinding]:
    floor = ".".join(map(str, FLOOR))
    yield _declared_version(server.version, floor)
    catalogs = api.ask(management("GET", "catalogs"), _Catalogs).catalogs
    if not catalogs:
        yield ServerFinding("endpoints", "not asked", "without a catalog Polaris lists none")
        return
    asked = PolarisRequest("GET", (*CATALOG, "v1", "config"), query={"warehouse": catalogs[0].name})
    offered = " ".join(api.ask(asked, _Config).endpoints)
    if _SINCE_1_7 in offered:
        yield ServerFinding("endpoints", "well", "it offers what Polaris has since 1.7")
    elif _SINCE_1_6 in offered:
        yield ServerFinding("endpoints", "well", "it offers what Polaris has since 1.6; 1.7 need not show")
    else:
        yield ServerFinding(
            "endpoints", "wrong", "It lacks what Polaris offers since 1.6.", f"upgrade to {floor} or later"
        )


def _declared_version(version: str | None, floor: str) -> ServerFinding:
    if version is None:
        return ServerFinding("version", "not asked", "the file names no `version`, and Polaris tells it to nobody")
    try:
        is_old = tuple(map(int, version.split(".")[:2])) < FLOOR
    except ValueError:  # of thousands of digits Python makes no number
        return ServerFinding("version", "wrong", "The file's `version` is none of Polaris.", "correct it")
    if is_old:
        return ServerFinding("version", "wrong", f"Polaris {version} is too old.", f"upgrade to {floor} or later")
    return ServerFinding("version", "well", f"the file says Polaris {version}")
