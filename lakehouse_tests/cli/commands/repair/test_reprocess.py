"""`lakehouse reprocess`, as a person calls it and docs/how-to/reprocess.md shows it.

What it does: `steps/ingest/repair/test_reprocess.py`.
"""

import json
from dataclasses import replace
from pathlib import Path

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
import pytest
from typer.testing import CliRunner, Result

from lakehouse.cli import app
from lakehouse.declarations import Stream, Table, ToNamed, ToTable
from lakehouse.protocol.catalog import open_catalog
from lakehouse.steps.ingest.ingest_step import with_named_tables
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.steps.ingest.in_process import InProcess, Record

THINGS = "raw.things"
LARGE = 3_000_000_000


def table(kind: T.DataType) -> Table:
    """With a number of this type."""
    return declare({"number": pandera.Column(kind, nullable=False)}, name=THINGS).with_coordinates()


def record(number: int) -> Record:
    return None, json.dumps({"number": number}).encode()


@pytest.fixture
def stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InProcess:
    """A number, three that were too large, and something broken; the declaration is wide enough by now."""
    declared = Stream(name="things", topic="things", route=ToTable(THINGS), max_quarantine_share=1.0)
    made = InProcess(open_catalog(sql_settings(tmp_path)), declared)
    made.declare(table(T.IntegerType()))
    made.ingest({0: [record(1), *(record(LARGE + n) for n in range(3)), (None, b"broken")]})
    made.declare(table(T.LongType()))
    monkeypatch.setattr("lakehouse.cli.streams.declarations_of", lambda _: made.declarations)
    monkeypatch.setattr("lakehouse.cli.streams.catalog_of", lambda _: made.catalog)
    monkeypatch.setenv("LAKEHOUSE_HOME", str(tmp_path / "home"))
    return made


def call(*words: str) -> Result:
    return CliRunner().invoke(app, ("reprocess", *words), env={"COLUMNS": "160"})


def test_it_shows_first_and_takes_up_with_yes(stream: InProcess) -> None:
    head = stream.load(THINGS).metadata.current_snapshot_id
    shown = call("things")
    assert shown.exit_code == 0, shown.output
    assert "1-3" in shown.stdout
    assert "things: 3 records can leave the quarantine; still refused and staying: not_json: 1." in shown.stdout
    assert "say the same with --yes" in shown.stdout
    assert stream.load(THINGS).metadata.current_snapshot_id == head
    some = call("things", "--offsets", "0:2", "--offsets", "0:4-9", "--reason", "wider", "--yes")
    assert some.exit_code == 0, some.output
    assert "Sealed in 2 tables" in some.stdout
    assert stream.quarantined() == [(0, 1), (0, 3), (0, 4)]
    assert call("things", "--yes").exit_code == 0
    assert [row["number"] for row in stream.rows(THINGS)] == [1, LARGE, LARGE + 1, LARGE + 2]
    assert stream.holds().read == 5
    rest = call("things", "--yes")
    assert rest.exit_code == 0
    assert "Nothing was changed." in rest.stdout


def test_json_says_the_same_and_what_was_done(stream: InProcess) -> None:
    shown = json.loads(call("things", "--json").stdout)
    assert shown == {
        "stream": "things",
        "records": 3,
        "acceptable": {"0": [[1, 4]]},
        "refused": {"not_json": 1},
        "left": 0,
        "shared": 0,
        "tables_to_make": {},
        "done": False,
        "run_id": None,
        "snapshots": {},
    }
    done = json.loads(call("things", "--yes", "--json").stdout)
    assert done["done"]
    assert done["snapshots"] == {name: stream.load(name).metadata.current_snapshot_id for name in stream.tables}
    assert not json.loads(call("things", "--yes", "--json").stdout)["done"], "nothing is left to take up"


@pytest.mark.parametrize("text", ["0", "0:", "0:5-2", "x:1", "0:1-2-3"])
def test_what_names_no_offsets_is_one_line(stream: InProcess, text: str) -> None:
    result = call("things", "--offsets", text)
    assert result.exit_code == 2
    assert f"--offsets is '{text}'" in result.stderr


def test_what_is_not_in_quarantine_is_one_line(stream: InProcess) -> None:
    result = call("things", "--offsets", "0:0", "--yes")
    assert result.exit_code == 2
    assert "quarantine.things holds none of the records" in result.stderr


def test_tables_that_refused_records_name_are_made_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy was widened: two of three names are allowed by now."""

    def route(names: str) -> ToNamed:
        return ToNamed(like=THINGS, field="shop", namespaces=("raw",), table="raw.{}", names=names)

    declared = Stream(name="things", topic="things", route=route("a"), max_quarantine_share=1.0)
    made = InProcess(open_catalog(sql_settings(tmp_path)), declared)
    made.declare(table(T.LongType()))
    made.ingest({0: [(None, json.dumps({"number": n, "shop": shop}).encode()) for n, shop in enumerate("abcbX")]})
    assert made.quarantined() == [(0, 1), (0, 2), (0, 3), (0, 4)]
    made.stream = replace(declared, route=route("[abc]"))
    made.declare(table(T.LongType()))
    step_of = "lakehouse.cli.commands.repair.reprocess.step_of"
    monkeypatch.setattr(step_of, lambda *_: with_named_tables(made.step("reprocess")))
    assert json.loads(call("things", "--json").stdout)["tables_to_make"] == {"raw.b": 2, "raw.c": 1}
    shown = call("things").stdout
    assert "3 records more can leave it for tables that are made first: raw.b, raw.c." in shown
    assert "say the same with --yes" in shown
    assert not made.catalog.table_exists(("raw", "b"))
    assert call("things", "--yes").exit_code == 0
    assert [row["number"] for row in made.rows("raw.b")] == [1, 3]
    assert [row["number"] for row in made.rows("raw.c")] == [2]
    made.ingest({0: [(None, b'{"number": 9, "shop": "b"}')]})
    assert (made.quarantined(), made.holds().read) == ([(0, 4)], 6)
