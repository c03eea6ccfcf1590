"""`lakehouse plan`, `apply` and `tables`, as a person or a script calls them."""

import json
from pathlib import Path

import pytest

from lakehouse.cli.context import Context
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.commit import publish, seal_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.seal import Seal
from lakehouse_tests.cli.conftest import Lakehouse

pytestmark = pytest.mark.slow

THINGS = """
import pandera.pyspark as pa
from lakehouse import Stream, Table, ToTable

class Things(pa.DataFrameModel):
    id: int
{more}

things = Table(name="mine.things", schema=Things, description="Things.", owner="me")
stream = Stream(name="things", topic="things", route=ToTable("mine.things"))
"""
ALL = {
    "changelog.flights", "features.airport_load", "features.carrier_fleet", "features.hourly_weather",
    "features.route_days", "features.route_history", "features.training", "lakehouse.audit_log",
    "lakehouse.maintenance", "lakehouse.orphans", "lakehouse.statistics", "mine.things", "mirror.flights",
    "mirror.flights_tombstones", "quarantine.flight_changes", "quarantine.flights", "quarantine.mirror_flights",
    "quarantine.reference", "quarantine.things", "raw.airlines", "raw.airports", "raw.flights", "raw.planes",
    "raw.weather", "release.analytics",
}  # fmt: skip


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's own declaration, in a folder of its own."""
    monkeypatch.setenv("LAKEHOUSE_DECLARATIONS", str(tmp_path))
    path = tmp_path / "things.py"
    path.write_text(THINGS.format(more=""))
    return path


def test_plan_shows_and_apply_makes_the_difference(lakehouse: Lakehouse, file: Path) -> None:
    planned = lakehouse("plan", "--json")
    assert planned.exit_code == 0, planned.output
    assert {
        table["table"]: (table["exists"], table["changes"][0]["kind"]) for table in json.loads(planned.stdout)
    } == dict.fromkeys(ALL, (False, "CreateTable"))
    assert lakehouse("plan", "--exit-code").exit_code == 1

    assert "create with 23 columns" in lakehouse("apply").stdout
    assert lakehouse("plan").stdout == f"{len(ALL)} tables are as declared.\n"
    assert lakehouse("plan", "--exit-code").exit_code == 0
    assert lakehouse("apply").stdout == f"{len(ALL)} tables are as declared.\n"

    file.write_text(THINGS.format(more="    note: str = pa.Field(nullable=True)"))
    assert "add column note string" in lakehouse("plan").stdout
    done = json.loads(lakehouse("apply", "--json").stdout)
    assert [table["table"] for table in done if table["changes"]] == ["mine.things"]
    assert lakehouse("plan", "--exit-code").exit_code == 0


def test_nothing_is_touched_when_one_difference_would_lose_data(lakehouse: Lakehouse, file: Path) -> None:
    file.write_text(THINGS.format(more="    note: str"))
    assert lakehouse("apply").exit_code == 0
    file.write_text(
        THINGS.format(more="") + "\nmore = Table(name='mine.more', schema=Things, description='x', owner='x')"
    )
    for verb in ("plan", "apply"):
        answer = lakehouse(verb)
        assert answer.exit_code == 2
        assert "refused: mine.things: column note is in the table and not in the declaration" in answer.stderr
        assert "Remedy: declare it again" in answer.stderr
    refused = {table["table"]: table["refused"] for table in json.loads(lakehouse("plan", "--json").stdout)}
    assert refused["mine.things"][0]["remedy"]
    states = {table["table"]: table["exists"] for table in json.loads(lakehouse("tables", "--json").stdout)}
    assert (states["mine.things"], states["mine.more"]) == (True, False)


def test_a_broken_declaration_is_one_line_with_its_place(lakehouse: Lakehouse, file: Path) -> None:
    file.write_text("1 / 0\n")
    answer = lakehouse("plan")
    assert answer.exit_code == 2
    assert answer.stderr.startswith(f"DOES NOT LOAD: {file}, line 1: ZeroDivisionError")
    assert answer.stderr.count("\n") == 1


def test_tables_shows_what_exists_and_how_far_it_is(lakehouse: Lakehouse, file: Path) -> None:
    before = json.loads(lakehouse("tables", "--json").stdout)
    assert {table["table"] for table in before} == ALL
    assert not any(table["exists"] for table in before)
    shown = lakehouse("tables").stdout
    assert "not created" in shown
    assert "unread ?: this lakehouse's broker is stopped" in shown

    lakehouse("apply")
    settings = Context().settings
    catalog = open_catalog(settings.catalog)
    attempt = Attempt(run_id="run-one", step="things", runtime_date="2013-01-01")
    base = read_bases(catalog, ["mine.things"])["mine.things"]
    statement = KafkaStatement("cluster", "things", "topic", start={0: 0, 1: 0}, end={0: 7, 1: 5}).to_keys()
    publish(
        catalog,
        [seal_branch(catalog, base, attempt, Seal.of(attempt, "ingest", statement=statement, previous=None))],
    )
    things = next(
        table for table in json.loads(lakehouse("tables", "--json").stdout) if table["table"] == "mine.things"
    )
    assert things["snapshot_id"] == catalog.load_table("mine.things").metadata.current_snapshot_id
    assert (things["exists"], things["stream"], things["rows"]) == (True, "things", 0)
    assert (things["run_id"], things["runtime_date"]) == ("run-one", "2013-01-01")
    assert things["position"] == {"0": 7, "1": 5}
    assert things["problem"] is None


def test_where_nothing_of_the_kind_is_declared_the_remedy_is_to_declare_it(
    lakehouse: Lakehouse, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKEHOUSE_DEMO", "false")
    assert "There is no mirror mirror.x. Remedy: declare it\n" in lakehouse("rebuild", "mirror.x").stderr
    file.write_text("1 / 0")
    assert "Remedy: correct what does not load, or declare it\n" in lakehouse("rebuild", "mirror.x").stderr
