"""A lake of every released version, opened by today's code: it is proven as it was, and goes on from its positions.

The topics of a recording are gone with its broker; what a broker would say of them is in the seals.
"""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.definitions.sensor_definition import SensorExecutionData
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from lakehouse.build import build_defs
from lakehouse.cli import app
from lakehouse.declarations import Stream
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.topics import PartitionRange, TopicState
from lakehouse.iceberg.names import identifier_of
from lakehouse.orchestration.resources import Lake
from lakehouse.orchestration.resources.stream_status import stream_status
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.settings import KafkaSettings, load_settings
from lakehouse.steps.cdc.status import mirror_standing
from lakehouse.steps.ingest.ingest_step import IngestStep
from lakehouse.steps.ingest.position import stored_position
from lakehouse.steps.ingest.step import ingest, make_plan
from lakehouse_tests.recorded.archive import LARGEST, archive_of, unpack, versions

ASKS_FOR_TOPICS = ("lakehouse.steps.ingest.step", "lakehouse.orchestration.resources.stream_status")
ARRIVED = 3  # records in each partition
OWN_TABLES = "lakehouse."
# Sensors that may start a run: what the recorded code left due is due today as well.
MAY_START = {"upkeep"}


@dataclass
class Recorded:
    """A lake that a released version wrote."""

    root: Path
    facts: dict[str, Any]
    arrived: int = 0

    @cached_property
    def lake(self) -> Lake:
        return Lake(load_settings(self.root / "conf", {}))

    def step(self, stream: str) -> IngestStep:
        lake = self.lake
        return IngestStep(
            stream=lake.declarations.streams[stream],
            declarations=lake.declarations,
            catalog=lake.catalog,
            kafka=lake.settings.kafka,
            limits=lake.settings.ingest,
            session=_no_session,
            attempt=Attempt(run_id="today", step=f"ingest:{stream}"),
            inform=lambda message: None,
        )

    def topic(self, _: KafkaSettings, stream: Stream, previous: KafkaStatement | None) -> TopicState:
        """As the broker would say, with what has arrived since."""
        name = stream.name
        step = self.step(name)
        sealed = stored_position(name, read_bases(step.catalog, step.tables))
        assert sealed is not None
        ranges = {p: PartitionRange(0, end + self.arrived) for p, end in sealed.end.items()}
        return TopicState(sealed.topic, sealed.cluster_id, sealed.topic_id, ranges)

    def locations(self) -> dict[str, str]:
        """Table → its metadata file, without the tables that sensors write to."""
        lake = self.lake
        names = [name for name in lake.declarations.tables if not name.startswith(OWN_TABLES)]
        return {name: lake.catalog.load_table(identifier_of(name)).metadata_location for name in names}

    def call(self, *words: str) -> Any:
        done = CliRunner().invoke(app, ["--conf", str(self.root / "conf"), *words, "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)


def _no_session() -> AbstractContextManager[SparkSession]:
    raise AssertionError("there is nothing to read")


@pytest.fixture(scope="module", params=versions())
def unpacked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    root = tmp_path_factory.mktemp("lake")
    return Recorded(root, unpack(request.param, root))


@pytest.fixture
def recorded(unpacked: Recorded, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorded]:
    """The lake with a broker that has nothing new; nothing of these tests may change a table."""
    for module in ASKS_FOR_TOPICS:
        monkeypatch.setattr(f"{module}.read_stream_topics", unpacked.topic)
    before = unpacked.locations()
    yield unpacked
    unpacked.arrived = 0
    assert unpacked.locations() == before


def test_a_recording_is_there_and_small() -> None:
    assert "0.1.0" in versions()
    assert [version for version in versions() if archive_of(version).stat().st_size >= LARGEST] == []


@pytest.mark.parametrize("scan", [(), ("--scan",)], ids=["statistics", "scan"])
def test_the_audit_holds_and_says_what_it_said(recorded: Recorded, scan: tuple[str, ...]) -> None:
    now, then = recorded.call("audit", *scan), recorded.facts["audit"]
    assert now["holds"]
    for kind in ("streams", "mirrors", "derived", "releases", "leases"):
        assert len(now[kind]) == len(then[kind]) > 0
    keys = ("stream", "position", "read", "lost", "losses", "proven_from")
    assert [{key: stream[key] for key in keys} for stream in now["streams"]] == [
        {key: stream[key] for key in keys} for stream in then["streams"]
    ]
    assert any(stream["losses"] for stream in now["streams"])


def test_rows_and_positions_are_as_they_were(recorded: Recorded) -> None:
    kept = ("table", "rows")
    now, then = ([{key: row[key] for key in kept} for row in rows] for rows in _tables(recorded))
    assert now == then
    assert sum(row["rows"] for row in now) > 200


def test_tables_are_as_declared(recorded: Recorded) -> None:
    """But for properties that came later, which no step waits for: `lakehouse apply` sets them."""
    plans = recorded.call("plan")
    assert [plan for plan in plans if plan["refused"]] == []
    kinds = {change["kind"] for plan in plans for change in plan["changes"]}
    assert not kinds & {"AddColumn", "WidenColumn", "RelaxColumn", "CreateTable", "Repartition", "Resort"}, plans


def test_an_ingest_adds_nothing_where_nothing_is_new(recorded: Recorded) -> None:
    for stream in recorded.lake.declarations.streams.values():
        assert ingest(recorded.step(stream.name)).published is None
        assert stream_status(recorded.lake, stream).lag == 0


def test_an_ingest_goes_on_from_the_position(recorded: Recorded) -> None:
    for stream in recorded.lake.declarations.streams.values():
        step = recorded.step(stream.name)
        bases = read_bases(step.catalog, step.tables)
        ends = {p: limits.last_stable for p, limits in recorded.topic(step.kafka, stream, None).partitions.items()}
        recorded.arrived = ARRIVED
        assert make_plan(step, bases).ranges == {p: (end, end + ARRIVED) for p, end in ends.items()}
        recorded.arrived = 0


def test_mirrors_have_nothing_to_do(recorded: Recorded) -> None:
    lake = recorded.lake
    standings = [mirror_standing(lake.catalog, tables) for tables in lake.declarations.mirrors.values()]
    assert [standing.lags for standing in standings] == [False]
    assert all(standing.rows for standing in standings)


def test_sensors_look_and_start_nothing(recorded: Recorded) -> None:
    ticks = _ticks(recorded)
    assert {"sightings_lag", "nests_lag", "upkeep"} <= ticks.keys()
    assert [name for name, tick in ticks.items() if tick.run_requests and name not in MAY_START] == []


def test_sensors_start_a_run_where_records_have_arrived(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakehouse.orchestration.automation.stream_sensor._has_older", lambda *_: True)
    monkeypatch.setattr("lakehouse.orchestration.checks.stream.verdict.oldest_unread", lambda *_: None)
    recorded.arrived = ARRIVED
    ticks = _ticks(recorded, "sightings_lag", "nests_lag")
    assert {name for name, tick in ticks.items() if tick.run_requests} == {"sightings_lag", "nests_lag"}


def test_what_a_person_looks_at(recorded: Recorded) -> None:
    for words in (("status",), ("log",), ("release", "show", "reports"), ("release", "list"), ("maintain", "--plan")):
        assert recorded.call(*words)
    leases = {(lease["table"], lease["owner"]) for lease in recorded.call("lease", "list")}
    assert ("mart.totals", "year-end") in leases


def _tables(recorded: Recorded) -> Iterator[list[dict[str, Any]]]:
    """Rows of `lakehouse tables`, now and then, without tables that the lakehouse keeps for itself."""
    for rows in (recorded.call("tables"), recorded.facts["tables"]):
        yield [row for row in rows if not row["table"].startswith(OWN_TABLES)]


def _ticks(recorded: Recorded, *names: str) -> dict[str, SensorExecutionData]:
    """Sensor → what it does now; of all, or of the named ones."""
    defs = build_defs(recorded.lake.settings)
    ticks = {}
    with dg.DagsterInstance.ephemeral() as instance:
        for sensor in defs.sensors or []:
            # Dagster's daemon evaluates conditions of assets.
            if not isinstance(sensor, dg.AutomationConditionSensorDefinition) and (not names or sensor.name in names):
                context = dg.build_sensor_context(
                    instance=instance, definitions=defs, resources={"lake": recorded.lake}
                )
                ticks[sensor.name] = sensor.evaluate_tick(context)
    return ticks
