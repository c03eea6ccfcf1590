"""A whole lakehouse for a test: conf folder, declarations, state and topics of its own; broker and Spark are shared."""

import itertools
import json
import os
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
import pytest
import yaml
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from lakehouse.build import build_defs
from lakehouse.cli import app
from lakehouse.declarations import MirrorTables
from lakehouse.engines.kafka import Record, create_topic, send
from lakehouse.orchestration.resources import Lake
from lakehouse.settings import KafkaSettings, Settings, load_settings
from lakehouse_tests.fixtures.broker import REPOSITORY, WORKER, state_with_jars
from lakehouse_tests.fixtures.environ import clean_environ
from lakehouse_tests.fixtures.spark import PLATFORM, free_port

_NUMBERS = itertools.count()
PARTITIONS = 2

TABLE = '''
"""Sightings of birds."""

import pandera.pyspark as pa

from lakehouse import Table


class Birds(pa.DataFrameModel):
    """A bird that somebody saw."""

    name: str = pa.Field(description="Name of the bird")
    count: int = pa.Field(ge=1, description="How many of them")
    weight: float = pa.Field(nullable=True, le=20, description="Weight in kg", metadata={"severity": "warning"})
    observer: str = pa.Field(nullable=True, description="Who saw it", metadata={"sensitive": True})


birds = Table(name="raw.birds", schema=Birds, description="Birds that were seen.", owner="ornithology")
'''

STREAM = '''
"""The topic of sightings."""

from lakehouse import Stream, ToTable

birds = Stream(name="birds", topic="{topic}", route=ToTable("raw.birds"), max_quarantine_share=0.5)
'''

NESTS = '''
"""Changes of a source table of nests, and what it holds now."""

from datetime import timedelta

import pandera.pyspark as pa
from pyspark.sql.types import LongType

from lakehouse import Changelog, Flat, Mirror


class Nest(pa.DataFrameModel):
    """A nest."""

    nest: LongType = pa.Field(description="Number of the nest")
    bird: str = pa.Field(nullable=True, description="Who lives there")
    eggs: LongType = pa.Field(nullable=True, description="How many eggs are in it")
    finder: str = pa.Field(nullable=True, description="Who found it", metadata={{"sensitive": True}})


log = Changelog(
    name="changelog.{name}",
    topic="{topic}",
    stream="{name}",
    row=Nest,
    key=("nest",),
    description="Nests.",
    owner="ornithology",
    format=Flat(source_time="__source_ts_ms"),
    max_quarantine_share=0.5,
)
mirror = Mirror(name="mirror.{name}", changelog=log, target_lag=timedelta(seconds={target_lag}))
'''


@dataclass
class House:
    """Where everything is."""

    root: Path
    topic: str
    kafka: KafkaSettings
    instance: dg.DagsterInstance
    sent: int = field(default=0)

    @property
    def conf(self) -> Path:
        """The folder of settings."""
        return self.root / "conf"

    @property
    def settings(self) -> Settings:
        """The settings, read from the folder as any process would."""
        return load_settings(self.conf, {})

    def declare(self, name: str, text: str) -> None:
        """Write a declaration file."""
        (self.conf / "declarations" / f"{name}.py").write_text(textwrap.dedent(text).lstrip())

    def send(self, *values: object) -> None:
        """Send records to the topic, to its partitions in turn; bytes as they are, anything else as JSON."""
        encoded = [value if isinstance(value, bytes) else json.dumps(value).encode() for value in values]
        send(self.kafka, self.topic, [Record(v, partition=n % PARTITIONS) for n, v in enumerate(encoded, self.sent)])
        self.sent += len(encoded)

    def have_own_broker(self) -> None:
        """From here on Kafka is a broker of this lakehouse's own, which nobody has started."""
        own = {"bootstrap_servers": f"127.0.0.1:{free_port()}", "local": True}
        (self.conf / "kafka" / "local.yaml").write_text(yaml.safe_dump(own))

    def birds(self, number: int) -> None:
        """Send good records."""
        self.send(*({"name": f"tit {n}", "count": n + 1, "weight": 0.02} for n in range(number)))

    def follow(self, name: str = "nests", *, target_lag: float = 60) -> MirrorTables:
        """Declare a stream of changes with its changelog and its mirror."""
        topic = f"{self.topic}-{name}"
        create_topic(self.kafka, topic, 2)
        self.declare(name, NESTS.format(name=name, topic=topic, target_lag=target_lag))
        return self.lake().declarations.mirrors[f"mirror.{name}"]

    def change(self, operation: str, lsn: int, nest: int, name: str = "nests", **columns: object) -> None:
        """Send a change of one nest: `c`, `u` or `d`."""
        row = {"nest": nest, "bird": "tit", "eggs": 1, "finder": None, **columns}
        if operation == "d":
            row = {"nest": nest, "bird": None, "eggs": None, "finder": None}
        fields = {"__op": operation, "__source_lsn": lsn, "__source_ts_ms": 1_700_000_000_000 + lsn}
        record = Record(json.dumps({**row, **fields}).encode(), json.dumps({"nest": nest}).encode())
        send(self.kafka, f"{self.topic}-{name}", [record])

    def defs(self, **overrides: object) -> dg.Definitions:
        """The definitions, built anew."""
        return build_defs(self.settings, resource_overrides=overrides)

    def run(
        self, *keys: str, tags: Mapping[str, str] | None = None, defs: dg.Definitions | None = None
    ) -> dg.ExecuteInProcessResult:
        """Materialize assets (all tables if none is named) with their checks, as a run that may fail."""
        defs = defs or self.defs()
        tables = dg.AssetSelection.all() - dg.AssetSelection.groups("maintenance")
        chosen = dg.AssetSelection.assets(*(key.split(".") for key in keys)) if keys else tables
        job = defs.resolve_implicit_global_asset_job_def()
        return job.execute_in_process(
            instance=self.instance,
            raise_on_error=False,
            tags=dict(tags or {}),
            asset_selection=sorted(chosen.resolve(defs.resolve_asset_graph())),
        )

    def command(self, *words: str, exit_code: int = 0, **environ: str) -> Result:
        """What `lakehouse …` prints; called in this process, so that it shares the test session's driver."""
        given = {"LAKEHOUSE_CONF": str(self.conf), "COLUMNS": "200", **environ}
        return command(*words, environ=given, exit_code=exit_code)

    def lake(self) -> Lake:
        """A lake as a notebook would open it."""
        return Lake(self.settings)


def command(*words: str, environ: Mapping[str, str], exit_code: int = 0) -> Result:
    """Call `lakehouse …` in this process; it must end as is expected."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ.keys() - clean_environ():
            patch.delenv(name)
        for name in ("DAGSTER_HOME", "LAKEHOUSE_CONF", "LAKEHOUSE_DECLARATIONS"):
            patch.setenv(name, "")  # what the command sets is undone
        for name, value in environ.items():
            patch.setenv(name, value)
        done = CliRunner().invoke(app, words)
    assert done.exit_code == exit_code, done.output
    return done


def shipped_conf(root: Path, *streams: str) -> Path:
    """Link what is shipped, beside it the test session's platform as `test`; of the demo's declarations the named ones.

    Args:
        root: Where the folder is made.
        streams: Names of streams, which come with all tables of the demo; if none is named, everything is declared.
    """
    shipped, conf = REPOSITORY / "conf", root / "conf"
    named = [shipped / "declarations" / "streams" / f"{name}.py" for name in streams]
    chosen = [*shipped.glob("declarations/tables/*.py"), *named] if named else shipped.glob("declarations/*/*.py")
    for file in (*shipped.glob("*.yaml"), *shipped.glob("*/*.*"), *chosen):
        link = conf / file.relative_to(shipped)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(file)
    (conf / "platforms" / "test.yaml").write_text(yaml.safe_dump(PLATFORM))
    return conf


def materializations(result: dg.ExecuteInProcessResult) -> dict[str, dg.AssetMaterialization]:
    """Table → what the run materialized."""
    recorded = [event.materialization for event in result.get_asset_materialization_events()]
    return {".".join(materialization.asset_key.path): materialization for materialization in recorded}


def checks(result: dg.ExecuteInProcessResult) -> dict[str, dg.AssetCheckEvaluation]:
    """`table check` → what the run found."""
    return {
        f"{'.'.join(evaluation.asset_key.path)} {evaluation.check_name}": evaluation
        for evaluation in result.get_asset_check_evaluations()
    }


def write_conf(root: Path, kafka: KafkaSettings, jars: Path) -> Path:
    """Write a conf folder whose platform is the test session's driver."""
    conf = root / "conf"
    (conf / "platforms").mkdir(parents=True)
    (conf / "kafka").mkdir()
    (conf / "declarations").mkdir()
    for shared in ("jars", "broker", "catalogs"):
        (conf / shared).symlink_to(REPOSITORY / "conf" / shared)
    state_with_jars(root / "state", jars)
    documents = {
        "lakehouse.yaml": {"platform": "test", "home": str(root / "state"), "timezone": "Europe/Berlin"},
        "platforms/test.yaml": PLATFORM,
        "kafka/local.yaml": {"bootstrap_servers": kafka.bootstrap_servers},
    }
    for name, document in documents.items():
        (conf / name).write_text(yaml.safe_dump(document))
    return conf


@contextmanager
def new_house(root: Path, kafka: KafkaSettings, jars: Path) -> Iterator[House]:
    """Build a lakehouse with one stream and one table, `raw.birds`."""
    topic = f"birds-{WORKER}{next(_NUMBERS)}"
    write_conf(root, kafka, jars)
    create_topic(kafka, topic, PARTITIONS)
    with dg.DagsterInstance.ephemeral() as instance:
        house = House(root, topic, kafka, instance)
        house.declare("birds", TABLE)
        house.declare("sightings", STREAM.format(topic=topic))
        yield house


@pytest.fixture
def house(tmp_path: Path, broker: KafkaSettings, jars: Path) -> Iterator[House]:
    """A lakehouse without Spark: for everything that does not ingest."""
    with new_house(tmp_path, broker, jars) as built:
        yield built


@pytest.fixture
def working_house(house: House, spark: SparkSession) -> House:
    """A lakehouse that can ingest, in the test session's driver."""
    return house
