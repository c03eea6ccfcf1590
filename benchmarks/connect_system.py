"""The Iceberg Kafka Connect sink in a standalone worker: one JVM, warm over all runs, a fresh connector for each."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Self

import httpx

from benchmarks.declared import Case, order_table
from benchmarks.lab import Lab
from lakehouse.engines.jars import fetch_jars
from lakehouse.engines.kafka import create_topic

LOCKS = Path(__file__).parent / "connect"
_PLUGINS = "connect-plugins"


class ConnectSystem:
    """A worker process; connectors are made and removed over its REST interface on the loopback."""

    name = "connect"

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._folder = lab.settings.state.root / "connect"
        self._port = _free_port()
        self._rest = httpx.Client(base_url=f"http://127.0.0.1:{self._port}", timeout=60)

    def __enter__(self) -> Self:
        jars = self._lab.settings.state.jars
        worker = fetch_jars(LOCKS / "worker" / "pom.xml", jars / "connect-worker", LOCKS / "worker" / "jars.sha256")
        fetch_jars(LOCKS / "sink" / "pom.xml", jars / _PLUGINS / "iceberg", LOCKS / "sink" / "jars.sha256")
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        properties = self._folder / "worker.properties"
        properties.write_text("".join(f"{key}={value}\n" for key, value in self._worker().items()))
        java = ["java", f"-Xmx{self._lab.limits.heap}", "-Dlog4j2.level=WARN", "-cp", os.pathsep.join(map(str, worker))]
        command = [*java, "org.apache.kafka.connect.cli.ConnectStandalone", properties]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            self._wait_for_rest()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._rest.close()
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    @property
    def pid(self) -> int:
        """The worker's JVM, which has no children."""
        return self.process.pid

    def prepare(self, case: Case, namespace: str) -> None:
        """Make the tables, without coordinates, which the sink cannot write, and the sink's control topic."""
        self._lab.create_tables(order_table(name) for name in case.tables(namespace).values())
        create_topic(self._lab.settings.kafka, f"control-{namespace}", 1)

    def ingest(self, case: Case, namespace: str) -> None:
        """Start a connector and wait until all records are committed."""
        self._rest.post(
            "/connectors", json={"name": namespace, "config": self._connector(case, namespace)}
        ).raise_for_status()
        tables = case.tables(namespace).values()
        deadline = time.monotonic() + 1800
        while (committed := self._committed(tables)) < self._lab.count:
            self._check(namespace)
            if time.monotonic() > deadline:
                raise TimeoutError(f"the sink committed {committed} of {self._lab.count} records")
            time.sleep(0.2)

    def settle(self, namespace: str) -> None:
        """Remove the connector, so that the worker is idle while others run."""
        self._rest.delete(f"/connectors/{namespace}").raise_for_status()

    @property
    def _log(self) -> Path:
        return self._folder / "worker.log"

    def _committed(self, tables: Iterable[str]) -> int:
        heads = [self._lab.catalog.load_table(name).current_snapshot() for name in tables]
        return sum(int(head.summary["total-records"] or 0) for head in heads if head and head.summary)

    def _check(self, name: str) -> None:
        status = self._rest.get(f"/connectors/{name}/status")
        if status.is_success:
            failed = [
                part for part in [status.json()["connector"], *status.json()["tasks"]] if part["state"] == "FAILED"
            ]
            if failed:
                raise RuntimeError(f"the sink failed: {failed[0]['trace'][:3000]}")

    def _wait_for_rest(self) -> None:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                if self._rest.get("/connectors").is_success:
                    return
            except httpx.TransportError:
                pass  # it does not listen yet
            time.sleep(0.2)
        raise RuntimeError(f"the Connect worker did not start: {self._log.read_text()[-3000:]}")

    def _worker(self) -> dict[str, object]:
        return {
            "bootstrap.servers": self._lab.settings.kafka.bootstrap_servers,
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
            "offset.storage.file.filename": self._folder / "offsets",
            "listeners": f"http://127.0.0.1:{self._port}",
            # So long a task with nothing to read sleeps before it hears what the coordinator wants; 60 s by default.
            "offset.flush.interval.ms": "500",
            "plugin.path": self._lab.settings.state.jars / _PLUGINS,
            "plugin.discovery": "service_load",
        }

    def _connector(self, case: Case, namespace: str) -> dict[str, str]:
        state, limits = self._lab.settings.state, self._lab.limits
        tables = case.tables(namespace)
        routes = {f"iceberg.table.{table}.route-regex": kind for kind, table in tables.items() if kind}
        return {
            "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
            "tasks.max": str(limits.cores),
            "topics": self._lab.topic,
            "consumer.override.auto.offset.reset": "earliest",
            "iceberg.kafka.bootstrap.servers": self._lab.settings.kafka.bootstrap_servers,
            "iceberg.tables": ",".join(tables.values()),
            "iceberg.catalog": "lake",
            "iceberg.catalog.catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
            "iceberg.catalog.uri": f"jdbc:sqlite:{state.catalog_db}?busy_timeout=30000",
            "iceberg.catalog.warehouse": state.warehouse.as_uri(),
            "iceberg.catalog.jdbc.schema-version": "V1",
            "iceberg.control.topic": f"control-{namespace}",
            "iceberg.control.commit.interval-ms": str(int(limits.commit_seconds * 1000)),
            **({"iceberg.tables.route-field": "kind"} | routes if routes else {}),
        }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
