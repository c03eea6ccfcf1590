"""`lakehouse log` shows what is logged, for a person and for a program."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lakehouse.cli.main import app
from lakehouse.declarations import AUDIT_LOG
from lakehouse.orchestration.resources import Lake
from lakehouse.protocol.journal import Event, JournalNews, append
from lakehouse.settings import KafkaSettings, load_settings
from lakehouse_tests.orchestration.assets.house import write_conf
from lakehouse_tests.protocol.journal.kept import event

pytestmark = pytest.mark.slow


@pytest.fixture
def conf(tmp_path: Path, jars: Path) -> Path:
    return write_conf(tmp_path, KafkaSettings(bootstrap_servers="127.0.0.1:1"), jars)


def record(conf: Path, *events: Event) -> None:
    lake = Lake(load_settings(conf, {}))
    lake.ensure([AUDIT_LOG.name])
    append(lake.catalog, [lambda position, _: JournalNews(events, position)], writer="test")


def printed(conf: Path, *words: str) -> str:
    result = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["--conf", str(conf), "log", *words])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_before_anything_is_logged_it_says_so(conf: Path) -> None:
    assert "Nothing is logged yet: `lakehouse run`" in printed(conf)
    assert "Nothing of the kind is logged." in printed(conf, "--kind", "check")
    assert json.loads(printed(conf, "--json")) == []
    assert "Only what deletes is logged here" in printed(conf, "--kind", "maintenance")
    assert "`lakehouse.maintenance`" in printed(conf, "--kind", "maintenance")


def test_events_are_shown_and_chosen_by_table_run_and_kind(conf: Path) -> None:
    record(
        conf,
        event("1", table="raw.a", run_id="first", root_run_id="first", who="anna, by the command line"),
        event("2", table="raw.b", run_id="again", root_run_id="first", details={"rows": 3}),
        event("3", table="raw.b", run_id="other", root_run_id="other", severity="ERROR"),
    )
    shown = printed(conf)
    assert "anna, by the command line" in shown
    assert shown.count("run success") == 3
    assert [row["event_id"] for row in json.loads(printed(conf, "--json", "--table", "raw.b"))] == ["2", "3"]
    of_run = json.loads(printed(conf, "--json", "--run", "first"))
    assert [row["event_id"] for row in of_run] == ["1", "2"], "a re-execution belongs to its first run"
    assert of_run[1]["details"] == {"rows": 3}
    assert json.loads(printed(conf, "--json", "--kind", "check")) == []
    assert [row["event_id"] for row in json.loads(printed(conf, "--json", "--last", "1"))] == ["3"]


def test_in_80_columns_every_event_is_one_whole_line(conf: Path) -> None:
    message = (
        "references_raw_airports: 7,602 of 336,776 rows have one of 4 values of dest that no row of raw.airports has."
    )
    record(
        conf,
        event("1", table="features.hourly_weather", run_id="a", root_run_id="a", who="anna", message=message),
        event("2", run_id="b", root_run_id="b", severity="WARN", message="[bold] is no markup"),
    )
    first, second = printed(conf).splitlines()
    assert "features.hourly_weather" in first
    assert first.endswith(f"{message} (anna)")
    assert "run success (warning)" in second, "without colours, too, a warning is told from a failure"
    assert "[bold] is no markup" in second
