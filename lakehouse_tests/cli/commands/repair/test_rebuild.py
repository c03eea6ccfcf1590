"""`lakehouse rebuild` says what it would do, and does nothing without --yes. What it does: `assets/test_mirror.py`."""

import json

import pytest
from click.testing import Result
from typer.testing import CliRunner

from lakehouse.cli import app
from lakehouse_tests.orchestration.assets.house import House
from lakehouse_tests.orchestration.automation.standing import land_changes, mirror_changes

pytestmark = pytest.mark.kafka


def rebuild(house: House, *words: str) -> Result:
    return CliRunner().invoke(app, ["--conf", str(house.conf), "rebuild", *words], env={"COLUMNS": "120"})


def test_it_shows_what_it_would_fold_and_replace(house: House) -> None:
    tables = house.follow()
    mirror_changes(house, tables, land_changes(house, tables, 3))
    newest = land_changes(house, tables, 2)
    before = house.lake().catalog.load_table(("mirror", "nests")).metadata_location
    shown = rebuild(house, "mirror.nests")
    assert shown.exit_code == 0, shown.output
    assert "changes it folds" in shown.stdout
    assert "│ 0/12/3  │                5 │ changelog.nests │" in shown.stdout
    assert f"Up to snapshot {newest} of changelog.nests." in shown.stdout
    assert "say the same with --yes" in shown.stdout
    assert json.loads(rebuild(house, "mirror.nests", "--json").stdout) == {
        "mirror": "mirror.nests",
        "rows": 0,  # the mirror of this house seals what it has applied, and no rows
        "position": "0/12/3",
        "changelog": "changelog.nests",
        "changes": 5,
        "up_to": newest,
        "initial": None,
        "problem": None,
        "done": False,
    }
    assert house.lake().catalog.load_table(("mirror", "nests")).metadata_location == before


def test_an_unknown_mirror_and_an_empty_changelog_are_one_line(house: House) -> None:
    house.follow()
    unknown = rebuild(house, "mirror.nest", "--yes")
    assert unknown.exit_code == 2
    assert "There is no mirror mirror.nest. Remedy: name one of mirror.nests" in unknown.stderr
    empty = rebuild(house, "mirror.nests", "--yes")
    assert empty.exit_code == 2
    assert "changelog.nests holds no change" in empty.stderr
