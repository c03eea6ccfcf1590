"""`lakehouse rollback|forward`, as a person calls them and docs/how-to/audit.md shows it.

What they do: `steps/maintenance/rollback/test_move.py`.
"""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from lakehouse.cli import app
from lakehouse.cli.commands.repair import rollback as command
from lakehouse.protocol.catalog import open_catalog
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.proofs.audit.simulated import A, SimulatedStream


@pytest.fixture
def stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimulatedStream:
    made = SimulatedStream(open_catalog(sql_settings(tmp_path)))
    made.ingest({0: 4})
    made.ingest({0: 4})
    monkeypatch.setattr(command, "catalog_of", lambda _: made.catalog)
    monkeypatch.setattr("lakehouse.cli.declared.load_sound", lambda *_, **__: made.declarations)
    monkeypatch.setattr(command, "read_stream_topics", lambda *_: made.topic())
    return made


def call(*words: str) -> Result:
    return CliRunner().invoke(app, words, env={"COLUMNS": "160"})


def test_it_shows_first_and_moves_with_yes(stream: SimulatedStream) -> None:
    head = stream.load(A).metadata.current_snapshot_id
    shown = call("rollback", "events", "--to", "run-1")
    assert shown.exit_code == 0, shown.output
    assert "say the same with --yes" in shown.stdout
    assert stream.load(A).metadata.current_snapshot_id == head
    moved = call("rollback", A, "--to", "run-1", "--yes", "--json")
    assert json.loads(moved.stdout)["tables"][A]["before"] == head
    assert (stream.audit().read, stream.audit().holds) == (4, True)
    assert "Moved, in one transaction." in call("forward", "events", "--yes").stdout
    assert (stream.audit().read, stream.audit().holds) == (8, True)
    assert "They stand there already" in call("forward", "events", "--yes").stdout


def test_a_refusal_is_one_line_with_its_remedy(stream: SimulatedStream) -> None:
    refused = call("rollback", "events")
    assert refused.exit_code == 2
    assert "say --to with one of run-1 (ingest)" in refused.output
