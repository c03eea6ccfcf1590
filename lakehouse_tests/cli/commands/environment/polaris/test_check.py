"""`lakehouse polaris check` and `setup`."""

import json

import yaml

from lakehouse_tests.cli.commands.environment.polaris.conftest import Polaris
from lakehouse_tests.polaris.played_server import PlayedPolaris


def test_what_is_wrong_ends_with_1(polaris: Polaris, played: PlayedPolaris) -> None:
    well = polaris("check")
    assert well.exit_code == 0, well.output
    assert [line.split(":")[0] for line in well.stdout.splitlines()] == [
        *("well      health", "well      version", "not asked endpoints")
    ]
    played.health = {"status": "DOWN"}
    wrong = polaris("check", "--json")
    assert wrong.exit_code == 1
    report = json.loads(wrong.stdout)
    assert (report["well"], report["findings"][0]["state"]) == (False, "wrong")
    assert "says DOWN: no part by name. Remedy: see the log of Polaris." in polaris("check").stdout


def test_setup_asks_no_server(polaris: Polaris, played: PlayedPolaris) -> None:
    assert len(yaml.safe_load(polaris("setup").stdout)["catalogs"]) == 3
    assert played.exchanges == []
