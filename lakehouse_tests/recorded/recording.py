"""Makes a small lake as a person would: with the commands, a broker and Spark of its own.

It has a stream with a quarantine and a loss ledger, a changelog and its mirror, a derived table, a release, a lease, a
checkpoint, and maintenance that rewrote and expired. Its values are counted, none is drawn.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import yaml

from lakehouse.engines.kafka import Record, create_topic, send
from lakehouse.engines.spark import spark_session
from lakehouse.settings import KafkaSettings, load_settings
from lakehouse_tests.fixtures.broker import REPOSITORY, state_with_jars
from lakehouse_tests.fixtures.spark import PLATFORM, free_port
from lakehouse_tests.orchestration.assets.house import command

BIRDS, NESTS = "sightings", "nests"
PARTITIONS = 2
SIGHTINGS = 120  # sent at a time, to the partitions in turn
GIVEN_UP = "0:75-77"  # offsets of the second time
DECLARATIONS = '''
"""Sightings of birds, changes of their nests, and what is computed from them."""

from datetime import timedelta

import pandera.pyspark as pa
from pyspark.sql.types import DateType, LongType

from lakehouse import (
    Changelog,
    Derived,
    Expire,
    Flat,
    Maintenance,
    Mirror,
    Release,
    Rewrite,
    Stream,
    Table,
    ToTable,
)

UPKEEP = Maintenance(
    rewrite=Rewrite(min_input_files=2, quiet_for=timedelta(0)),
    expire=Expire(max_snapshot_age=timedelta(seconds=1), min_snapshots_to_keep=2, max_snapshots=3, at_least=1),
)


class Bird(pa.DataFrameModel):
    """A bird that somebody saw."""

    name: str = pa.Field(description="Name of the bird")
    count: int = pa.Field(ge=1, description="How many of them")
    weight: float = pa.Field(nullable=True, le=20, description="Weight in kg", metadata={"severity": "warning"})


class Nest(pa.DataFrameModel):
    """A nest."""

    nest: LongType = pa.Field(description="Number of the nest")
    bird: str = pa.Field(nullable=True, description="Who lives there")
    eggs: LongType = pa.Field(nullable=True, description="How many eggs are in it")


class Total(pa.DataFrameModel):
    """A bird, over all sightings."""

    name: str = pa.Field(description="Name of the bird")
    total: LongType = pa.Field(nullable=True, ge=1, description="How many of them were seen")
    runtime_date: DateType = pa.Field(description="Runtime date of the run")


birds = Table(name="raw.birds", schema=Bird, description="Birds.", owner="ornithology", maintenance=UPKEEP)
sightings = Stream(name="sightings", topic="sightings", route=ToTable("raw.birds"), max_quarantine_share=0.5)
log = Changelog(
    name="changelog.nests",
    topic="nests",
    stream="nests",
    row=Nest,
    key=("nest",),
    description="Nests.",
    owner="ornithology",
    format=Flat(source_time="__source_ts_ms"),
)
mirror = Mirror(name="mirror.nests", changelog=log, target_lag=timedelta(seconds=60))
totals = Derived(
    table=Table(
        name="mart.totals",
        schema=Total,
        description="Sightings by bird.",
        owner="ornithology",
        key=("name",),
        write_mode="overwrite",
        runtime_date_column="runtime_date",
    ),
    inputs={"birds": "raw.birds"},
    compute="SELECT name, sum(count) AS total FROM birds GROUP BY name",
)
reports = Release(name="reports", members=("raw.birds", "mart.totals"), description="For readers.", owner="ornithology")
'''


def record(root: Path) -> dict[str, object]:
    """Make the lake in a folder; returns what is true of it."""
    kafka = _write_conf(root)
    _call(root, "up")
    try:
        with spark_session(load_settings(root / "conf", {}), app_name="recording"):
            return _live(root, kafka)
    finally:
        _call(root, "down")
        # Whoever opens the lake has no broker: it is not started, and nobody waits for its answer.
        nowhere = {"bootstrap_servers": "127.0.0.1:1", "local": True}
        (root / "conf" / "kafka" / "local.yaml").write_text(yaml.safe_dump(nowhere))


def _live(root: Path, kafka: KafkaSettings) -> dict[str, object]:
    for topic in (BIRDS, NESTS):
        create_topic(kafka, topic, PARTITIONS)
    _send(kafka, 0)
    _call(root, "run")
    _call(root, "lease", "take", "mart.totals", "year-end", "--for", "36500d", "--reason", "the auditors")
    _send(kafka, 1)
    _call(root, "accept-loss", BIRDS, "--offsets", GIVEN_UP, "--reason", "nobody wants them", "--yes")
    _call(root, "run")
    _call(root, "checkpoint", "mirror.nests")
    _call(root, "maintain", "raw.birds", "--only", "rewrite", "--only", "expire", "--yes")
    return {"audit": _printed(root, "audit"), "tables": _printed(root, "tables")}


def _send(kafka: KafkaSettings, number: int) -> None:
    send(kafka, BIRDS, _sightings(number))
    send(kafka, NESTS, _changes(number))


def _sightings(number: int) -> Iterator[Record]:
    """Some of them: a few are too heavy, which is a warning, and a few are no birds."""
    for count in range(SIGHTINGS):
        seen = {"name": f"tit {count % 5}", "count": number + count + 1, "weight": 0.02}
        value = json.dumps({**seen, "weight": 25.0} if count % 40 == 7 else seen).encode()
        yield Record(b"no bird" if count % 40 == 11 else value, partition=count % PARTITIONS)


def _changes(number: int) -> Iterator[Record]:
    """Ten nests come, those of the round before are changed, and two of them go."""
    for sequence, (operation, nest) in enumerate(
        [
            *(("c", 10 * number + nest) for nest in range(10)),
            *(("u", 10 * (number - 1) + nest) for nest in range(10) if number),
            *(("d", 10 * (number - 1) + nest) for nest in (3, 4) if number),
        ]
    ):
        lsn = 100 * number + sequence
        row = {"nest": nest, "bird": None if operation == "d" else f"tit {nest % 5}", "eggs": lsn % 6}
        origin = {"__op": operation, "__source_lsn": lsn, "__source_ts_ms": 1_700_000_000_000 + lsn}
        yield Record(
            json.dumps({**row, **origin}).encode(), json.dumps({"nest": nest}).encode(), partition=nest % PARTITIONS
        )


def _write_conf(root: Path) -> KafkaSettings:
    conf = root / "conf"
    (conf / "declarations").mkdir(parents=True)
    for shared in ("jars", "broker", "catalogs"):
        copytree(REPOSITORY / "conf" / shared, conf / shared)
    state_with_jars(root / "state", REPOSITORY / ".lakehouse" / "jars")
    kafka = {"bootstrap_servers": f"127.0.0.1:{free_port()}", "local": True}
    documents = {
        "lakehouse.yaml": {"platform": "test", "home": str(root / "state"), "timezone": "UTC", "demo": False},
        "platforms/test.yaml": PLATFORM,
        "kafka/local.yaml": kafka,
    }
    for name, document in documents.items():
        (conf / name).parent.mkdir(exist_ok=True)
        (conf / name).write_text(yaml.safe_dump(document))
    (conf / "declarations" / "birds.py").write_text(DECLARATIONS.lstrip())
    return KafkaSettings.model_validate(kafka)


def _printed(root: Path, *words: str) -> object:
    return json.loads(_call(root, *words, "--json"))


def _call(root: Path, *words: str) -> str:
    """Call the command as a person does, in this process: one driver of Spark does for all calls."""
    print("lakehouse", *words, file=sys.stderr, flush=True)
    return command(*words, environ={"LAKEHOUSE_CONF": str(root / "conf")}).stdout
