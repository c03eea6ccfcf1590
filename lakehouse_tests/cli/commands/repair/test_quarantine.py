"""`lakehouse quarantine` shows what it would do, and does it only where it is told to.

It is what `docs/how-to/reprocess.md` shows.
"""

import json
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from lakehouse.cli.commands.repair import quarantine as module
from lakehouse.cli.main import app
from lakehouse.declarations import Stream, ToTable
from lakehouse.engines.kafka import Record
from lakehouse.protocol.catalog import open_catalog
from lakehouse.steps.ingest.repair import refused_retention
from lakehouse.steps.ingest.repair.dead_letters import DeadLetters
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.ingest.conftest import THINGS
from lakehouse_tests.steps.ingest.in_process import BEGAN, InProcess


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Record]:
    """What was sent, of two records that the topic lacks and three that it has."""
    records: list[Record] = []

    def export(kafka: Any, topic: str, letters: DeadLetters) -> int:
        records.extend(letters.records)
        return len(letters.records)

    stream = SimpleNamespace(quarantine_table="quarantine.birds")
    monkeypatch.setattr(module, "step_of", lambda *_: SimpleNamespace(stream=stream, kafka=None, catalog=None))
    monkeypatch.setattr(module, "read_bases", lambda *_: {"quarantine.birds": None})
    monkeypatch.setattr(module, "find_dead_letters", lambda *_: DeadLetters([Record(b"a"), Record(b"b")], 3))
    monkeypatch.setattr(module, "export_dead_letters", export)
    return records


def printed(*words: str) -> str:
    done = CliRunner().invoke(app, ["quarantine", "export", "birds", "dead", *words])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_it_shows_and_sends_nothing(sent: list[Record]) -> None:
    shown = printed()
    assert "quarantine.birds: 2 records to send to dead; 3 are there already." in shown
    assert "Nothing was sent" in shown
    assert sent == []


def test_it_sends_where_it_is_told_to(sent: list[Record]) -> None:
    assert json.loads(printed("--yes", "--json")) == {
        "stream": "birds",
        "topic": "dead",
        "to_send": 2,
        "sent": 2,
        "present": 3,
    }
    assert [record.value for record in sent] == [b"a", b"b"]


@pytest.fixture
def birds(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> InProcess:
    """A stream that has refused two records in January, and keeps them for thirty days."""
    declared = Stream(
        name="birds", topic="birds", route=ToTable("raw.birds"), max_quarantine_share=1, keep_refused=timedelta(days=30)
    )
    made = InProcess(open_catalog(sql_lake.settings), declared)
    made.declare(declare(THINGS, name="raw.birds").with_coordinates())
    made.ingest({0: [(None, b"broken"), (None, b'{"id": 1}'), (None, b"{}")]})
    monkeypatch.setattr(module, "step_of", lambda *_: made.step("retire"))
    return made


def as_data(*words: str) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["quarantine", *words, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_it_counts_by_day_and_reason(birds: InProcess) -> None:
    counts = [{"day": str(BEGAN.date()), "reason": name, "records": 1} for name in ("missing_field", "not_json")]
    assert as_data("show", "birds", "--days", "3650")["refused"] == counts
    assert as_data("show", "birds", "--days", "1")["refused"] == []
    done = CliRunner().invoke(app, ["quarantine", "show", "birds", "--days", "1"])
    assert "quarantine.birds has no record of the last 1 day." in done.stdout


def test_it_lets_go_where_it_is_told_to(birds: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = CliRunner().invoke(app, ["quarantine", "expire", "birds", "--yes"])
    assert "quarantine.birds: 0 records past 30 days, 0:00:00 can go." in nothing.stdout
    monkeypatch.setattr(refused_retention, "SEEN", timedelta(0))
    assert (as_data("expire", "birds")["records"], len(birds.quarantined())) == (2, 2)
    assert (as_data("expire", "birds", "--yes")["records"], birds.quarantined()) == (2, [])
    assert birds.holds().removed == {"quarantine.birds": 2}
