"""A lake of which a backup is taken while a process publishes and expires, and which is lost, goes on from it.

Guarded mechanism: the catalog is copied at one moment, and a try whose files are gone begins again from a newer one.
"""

import multiprocessing
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from lakehouse.protocol.backup import take
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.base import read_bases
from lakehouse.settings import CatalogSettings
from lakehouse.settings.state import StateFolder
from lakehouse.steps.ingest.position import stored_position
from lakehouse_tests.cli.conftest import Lakehouse
from lakehouse_tests.proofs.audit.simulated import OFFSET, PARTITION, SimulatedStream

# Each publish deletes the document, and most snapshots, that a catalog copied before it names.
SHORT = {
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "1",
    "lakehouse.publish.keep-snapshots": "2",
}
DECLARED = """
import pandera.pyspark as pa
import pyspark.sql.types as T
from lakehouse import ByField, Stream, Table

schema = pa.DataFrameSchema({"id": pa.Column(T.LongType()), "text": pa.Column(T.StringType(), nullable=True)})
a = Table(name="raw.a", schema=schema, description="Things.", owner="tests")
b = Table(name="raw.b", schema=schema, description="Things.", owner="tests")
events = Stream(name="events", topic="events", route=ByField("kind", {"a": "raw.a", "b": "raw.b"}))
"""


def publish_on(settings: CatalogSettings, pipe: Connection) -> None:
    """The process: ingests again and again, and says after each publish where the topic ends."""
    stream = SimulatedStream(open_catalog(settings), SHORT)
    while True:
        stream.ingest({0: 7, 1: 5})
        pipe.send(stream.ends)


@dataclass
class Writer:
    """The process, and how far it has come."""

    pipe: Connection
    ends: dict[int, int]

    def publishes(self, count: int) -> None:
        """Wait until it has published so many times more; what it had said before does not count."""
        while self.pipe.poll():
            self.ends = self.pipe.recv()
        for _ in range(count):
            assert self.pipe.poll(180), "it publishes no more"
            self.ends = self.pipe.recv()


@contextmanager
def writing(settings: CatalogSettings) -> Iterator[Writer]:
    """While it writes; it is killed at the end, wherever it is."""
    context = multiprocessing.get_context("spawn")
    ours, its = context.Pipe()
    process = context.Process(target=publish_on, args=(settings, its))
    process.start()
    its.close()
    try:
        yield Writer(ours, {})
    finally:
        process.kill()
        process.join()


@pytest.fixture
def settings(empty_state: StateFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CatalogSettings:
    """Of a lake in which one stream is declared."""
    (tmp_path / "declared").mkdir()
    (tmp_path / "declared" / "events.py").write_text(DECLARED)
    monkeypatch.setenv("LAKEHOUSE_DECLARATIONS", str(tmp_path / "declared"))
    monkeypatch.setenv("LAKEHOUSE__DEMO", "false")
    root = empty_state.root
    return CatalogSettings(
        type="sql", uri=f"sqlite:///{root}/catalog.db?timeout=30", warehouse=empty_state.warehouse.as_uri()
    )


@pytest.mark.slow
@pytest.mark.kill
def test_a_lake_in_use_goes_on_from_its_backup(
    settings: CatalogSettings,
    lakehouse: Lakehouse,
    empty_state: StateFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tries: list[str] = []
    with writing(settings) as writer:
        writer.publishes(3)

        def between(name: str) -> None:
            tries.append(name)
            if len(tries) < 3:
                writer.publishes(2)

        with monkeypatch.context() as patch:
            patch.setattr(take, "failpoint", between)
            taken = lakehouse("backup", str(tmp_path / "monday"))
        assert taken.exit_code == 0, taken.output
        assert len(tries) >= 3, "files of the first catalogs were gone"
        writer.publishes(2)
    shutil.copytree(tmp_path / "monday", tmp_path / "elsewhere")
    for lost in (empty_state.warehouse, tmp_path / "monday"):  # the links go with the disk
        shutil.rmtree(lost)
    for file in empty_state.root.glob("catalog.db*"):
        file.unlink()

    assert lakehouse("restore", str(tmp_path / "elsewhere")).exit_code == 0
    for words in (("audit",), ("audit", "--scan")):
        proven = lakehouse(*words)
        assert proven.exit_code == 0, proven.output
        assert "events" in proven.output
    stream = SimulatedStream(open_catalog(settings), ends=dict(writer.ends))
    position = stored_position("events", read_bases(stream.catalog, stream.tables))
    assert position is not None
    assert all(0 < position.end[p] < end for p, end in writer.ends.items()), "the topic has more since"
    stream.ingest({})
    rows = [row for name in stream.tables for row in stream.load(name).scan().to_arrow().to_pylist()]
    assert Counter((row[PARTITION], row[OFFSET]) for row in rows) == Counter(
        (p, offset) for p, end in writer.ends.items() for offset in range(end)
    )
    stream.catalog.close()
    assert lakehouse("audit", "--scan").exit_code == 0
