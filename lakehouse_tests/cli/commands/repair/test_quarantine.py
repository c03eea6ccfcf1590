"""`lakehouse quarantine export` shows what it would send, and sends only where it is told to."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from lakehouse.cli.commands.repair import quarantine as module
from lakehouse.cli.main import app
from lakehouse.engines.kafka import Record
from lakehouse.steps.ingest.repair.dead_letters import DeadLetters


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
