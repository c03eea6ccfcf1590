"""The place where systems are compared: a state folder of its own, a broker, a topic with the records, a catalog."""

import shutil
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyiceberg.exceptions import NoSuchTableError
from rich.console import Console

from benchmarks.records import PARTITIONS, records
from lakehouse.declarations import Table, apply, plan
from lakehouse.engines.kafka import LocalBroker, Record, create_topic, read_topic, send, topic_names
from lakehouse.protocol.catalog import LakeCatalog, open_catalog
from lakehouse.settings import (
    CatalogSettings,
    IngestSettings,
    KafkaSettings,
    Platform,
    RegistrySettings,
    Settings,
    load_settings,
)
from lakehouse.settings.state import StateFolder


@dataclass(frozen=True)
class Limits:
    """What every system gets."""

    cores: int = 2
    heap: str = "1g"
    commit_records: int = 500_000
    commit_seconds: float = 2.0


@dataclass(frozen=True)
class Lab:
    """Settings of the lab, and what all systems share."""

    settings: Settings
    limits: Limits
    catalog: LakeCatalog
    topic: str
    count: int

    def create_tables(self, tables: Iterable[Table]) -> None:
        """Make fresh tables."""
        for table in tables:
            self.catalog.create_namespace_if_not_exists(table.identifier[0])
            self._drop(table.name)
            apply(plan(table, self.catalog), self.catalog)

    def drop_namespaces(self, namespaces: Iterable[str]) -> None:
        """Forget what a run wrote, and free the disk."""
        for namespace in namespaces:
            for identifier in self.catalog.list_tables(namespace):
                self._drop(".".join(identifier))
            self.catalog.drop_namespace(namespace)
            shutil.rmtree(self.settings.state.warehouse / namespace, ignore_errors=True)

    def _drop(self, name: str) -> None:
        try:
            self.catalog.drop_table(name)
        except NoSuchTableError:
            return


@contextmanager
def open_lab(
    count: int,
    limits: Limits,
    console: Console,
    *,
    name: str = "orders",
    make: Callable[[int], Iterable[Record]] = records,
    registry: RegistrySettings | None = None,
) -> Generator[Lab]:
    """Start the broker, fill the topic if that was not done before, and stop the broker at the end."""
    conf, state = load_settings().conf, _state("bench")
    broker = LocalBroker(state, conf / "broker" / "jars.sha256")
    broker.start()
    try:
        kafka = broker.settings.model_copy(update={"schema_registry": registry})
        settings = _settings(conf, state, limits, kafka)
        topic = f"{name}-{count}"
        _fill(settings, topic, count, make, console)
        yield Lab(settings, limits, open_catalog(settings.catalog), topic, count)
    finally:
        broker.stop()


@contextmanager
def local_lab(name: str, limits: Limits) -> Generator[Settings]:
    """A lab without a broker: an empty catalog, and Spark."""
    state = _state(name)
    shutil.rmtree(state.warehouse, ignore_errors=True)
    state.catalog_db.unlink(missing_ok=True)
    yield _settings(load_settings().conf, state, limits, KafkaSettings(bootstrap_servers="127.0.0.1:1"))


def _state(name: str) -> StateFolder:
    local = load_settings().state
    state = StateFolder(local.root / name)
    state.root.mkdir(parents=True, exist_ok=True)
    if not state.jars.is_symlink():
        state.jars.symlink_to(local.jars)
    return state


def _settings(conf: Path, state: StateFolder, limits: Limits, kafka: KafkaSettings) -> Settings:
    return Settings(
        conf=conf,
        state=state,
        platform=_platform(limits),
        catalog=CatalogSettings(
            type="sql", uri=f"sqlite:///{state.catalog_db}?timeout=30", warehouse=state.warehouse.as_uri()
        ),
        kafka=kafka,
        ingest=IngestSettings(max_records_per_run=limits.commit_records),
        declarations=(),
    )


def _platform(limits: Limits) -> Platform:
    conf = {
        "spark.driver.memory": limits.heap,
        "spark.python.daemon.module": "benchmarks.counted_daemon",
        "spark.sql.shuffle.partitions": str(limits.cores),
        "spark.ui.showConsoleProgress": "false",
    }
    return Platform(name="bench", mode="classic", master=f"local[{limits.cores}]", conf=conf)


def _fill(
    settings: Settings, topic: str, count: int, make: Callable[[int], Iterable[Record]], console: Console
) -> None:
    if topic not in topic_names(settings.kafka):
        create_topic(settings.kafka, topic, PARTITIONS, config={"retention.ms": "-1"})
    there = sum(limits.last_stable for limits in read_topic(settings.kafka, topic).partitions.values())
    if there == 0:
        send(settings.kafka, topic, make(count), total=count, console=console)
    elif there != count:
        raise RuntimeError(
            f"The topic {topic} holds {there} records, left by a run that was stopped: remove {settings.state.root}."
        )
