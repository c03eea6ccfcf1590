"""What `lakehouse tables` and `status` say of streams and mirrors: how far they are, and what is still before them."""

import json
import re
from typing import Any

import pytest
from typer.testing import CliRunner

from lakehouse.cli import app
from lakehouse_tests.orchestration.assets.house import House
from lakehouse_tests.orchestration.automation.standing import land_changes, mirror_changes, read_birds

pytestmark = pytest.mark.kafka


def call(house: House, *words: str, columns: int = 80) -> str:
    done = CliRunner().invoke(app, ["--conf", str(house.conf), *words], env={"COLUMNS": str(columns)})
    assert done.exit_code == 0, done.output
    return done.stdout


def as_data(house: House, verb: str) -> Any:
    return json.loads(call(house, verb, "--json"))


@pytest.fixture
def standing(house: House) -> House:
    """A stream with five unread records, and a mirror with two changes before it."""
    house.birds(5)
    tables = house.follow()
    mirror_changes(house, tables, land_changes(house, tables, 3))
    land_changes(house, tables, 2)
    return house


def test_tables_says_what_is_unread_and_not_mirrored(standing: House) -> None:
    states = {state["table"]: state for state in as_data(standing, "tables")}
    assert (states["raw.birds"]["stream"], states["raw.birds"]["unread"]) == ("birds", 5)
    assert (states["mirror.nests"]["mirror"], states["mirror.nests"]["unread"]) == ("mirror.nests", 2)
    assert states["mirror.nests_tombstones"]["mirror"] == "mirror.nests"
    assert states["changelog.nests"]["stream"] == "nests"
    assert states["changelog.nests"]["rows"] == 5


@pytest.mark.parametrize("columns", [80, 160])
def test_nothing_is_cut_in_eighty_columns(standing: House, columns: int) -> None:
    shown = call(standing, "tables", columns=columns)
    for state in as_data(standing, "tables"):
        assert state["table"] in shown
        assert str(state["snapshot_id"] or "") in shown
        assert (state["committed_at"] or "")[:10] in shown
        assert (state["committed_at"] or "")[11:16] in shown
        assert (state["runtime_date"] or "") in shown
    assert "…" not in shown
    assert "0/12/3" in shown
    assert re.search(r"0:0\d:\d\d", shown), "delay of the newest change: a minute and a half, and the test's own"


def test_status_says_how_far_behind_everything_is(standing: House) -> None:
    status = as_data(standing, "status")
    assert {stream["stream"]: stream["unread"] for stream in status["streams"]}["birds"] == 5
    [mirror] = status["mirrors"]
    assert (mirror["mirror"], mirror["position"], mirror["unmirrored"]) == ("mirror.nests", "0/12/3", 2)
    assert mirror["source_time"] == "2023-11-14T22:13:20+00:00"
    assert 90 <= mirror["delay_seconds"] < 600
    assert mirror["waiting_since"]
    assert "mirror.nests" in call(standing, "status")


def test_a_mirror_in_doubt_is_told_and_not_counted(standing: House) -> None:
    tables = standing.lake().declarations.mirrors["mirror.nests"]
    mirror_changes(standing, tables, 4711)
    [mirror] = as_data(standing, "status")["mirrors"]
    assert mirror["unmirrored"] is None
    assert "4711" in mirror["problem"]
    assert "4711" in call(standing, "tables")


def test_a_stream_whose_topic_was_made_anew_is_told_and_not_counted_as_read(house: House) -> None:
    house.birds(2)
    read_birds(house, 100, topic_id="before")
    stream = next(entry for entry in as_data(house, "status")["streams"] if entry["stream"] == "birds")
    assert stream["unread"] is None
    assert "was recreated" in stream["problem"]
    for verb in ("status", "tables"):
        assert "accept-loss birds --new-epoch" in " ".join(call(house, verb, columns=1000).split())


def test_status_shows_what_loads_where_a_declaration_does_not(house: House) -> None:
    house.declare("wrong", "1 / 0")
    shown = CliRunner().invoke(app, ["--conf", str(house.conf), "status", "--json"])
    assert shown.exit_code == 2
    assert "DOES NOT LOAD" in shown.stderr
    assert "wrong.py, line 1: ZeroDivisionError" in shown.stderr
    assert "birds" in {stream["stream"] for stream in json.loads(shown.stdout)["streams"]}
