"""Health and version: what a server says, what its file says, and what neither does."""

from collections.abc import Callable

import pytest

from lakehouse.polaris import PolarisApi, PolarisRefused, PolarisServer
from lakehouse.polaris.server_check import check_server
from lakehouse_tests.polaris.played_server import PlayedPolaris


def checked(server: PolarisServer) -> dict[str, tuple[str, str]]:
    return {finding.check: (finding.state, finding.message) for finding in check_server(PolarisApi(server), server)}


def test_a_server_that_is_well(applied: PlayedPolaris, server: PolarisServer) -> None:
    assert {check: state for check, (state, _) in checked(server).items()} == {
        **dict.fromkeys(("health", "version", "endpoints"), "well")
    }


def test_a_part_that_is_down_is_named(played: PlayedPolaris, server: PolarisServer) -> None:
    played.health = {"status": "DOWN", "checks": [{"name": "metastore", "status": "DOWN"}]}
    state, message = checked(server)["health"]
    assert state == "wrong"
    assert message.endswith("says DOWN: metastore.")


@pytest.mark.parametrize(
    ("version", "state"), [('"1.6.1"', "wrong"), (f'"{"9" * 5000}.0"', "wrong"), ('"1.7.0"', "well"), ('"2.0"', "well")]
)
def test_the_floor(declare: Callable[..., PolarisServer], version: str, state: str) -> None:
    assert checked(declare(('"1.8.0"', version)))["version"][0] == state


def test_what_is_not_said_is_not_called_well(declare: Callable[..., PolarisServer], played: PlayedPolaris) -> None:
    server = declare(('version: "1.8.0"\n', ""), (f"health: {played.url}\n", ""))
    assert {state for state, _ in checked(server).values()} == {"not asked"}


def test_an_old_server_shows_itself_whatever_its_file_says(applied: PlayedPolaris, server: PolarisServer) -> None:
    applied.version = "1.5"
    assert checked(server)["endpoints"] == ("wrong", "It lacks what Polaris offers since 1.6.")


def test_nobody_at_the_management_port(declare: Callable[..., PolarisServer], played: PlayedPolaris) -> None:
    server = declare((f"health: {played.url}", "health: http://127.0.0.1:9"))
    assert checked(server)["health"][0] == "wrong"


@pytest.mark.parametrize("catalog", [{}, {"name": None}, {"name": {"a": 1}}, 3])
def test_catalogs_that_are_none_are_one_clear_error(
    applied: PlayedPolaris, server: PolarisServer, catalog: object
) -> None:
    applied.catalogs = {"odd": catalog}  # type: ignore[dict-item]
    with pytest.raises(PolarisRefused, match="the answer to GET /api/management/v1/catalogs is none of Polaris"):
        checked(server)
