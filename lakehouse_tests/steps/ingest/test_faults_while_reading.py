"""What may die while a run reads: a worker that writes, and the broker. Nothing is half there; the next run completes.

Guarded mechanisms: files are on no branch until all of a plan is read, and what was read is what was planned.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lakehouse.engines.kafka import LocalBroker, create_topic
from lakehouse.errors import LakehouseError
from lakehouse.settings import KafkaSettings
from lakehouse.steps.ingest.step import ingest
from lakehouse.steps.ingest.workers import reading
from lakehouse.steps.ingest.workers.worker import IngestTask
from lakehouse_tests.fixtures.broker import BROKER_LOCK, TopicFactory, state_with_jars
from lakehouse_tests.steps.ingest.conftest import MakeLanding, thing

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.kill, pytest.mark.slow]


@pytest.fixture(scope="module")
def local_broker(tmp_path_factory: pytest.TempPathFactory, jars: Path) -> Iterator[LocalBroker]:
    """One that may be killed."""
    local = LocalBroker(state_with_jars(tmp_path_factory.mktemp("mortal"), jars), BROKER_LOCK)
    local.start()
    yield local
    local.stop()


@pytest.fixture
def broker(local_broker: LocalBroker) -> KafkaSettings:
    """In the place of the session's."""
    return local_broker.settings


@pytest.fixture
def topic(request: pytest.FixtureRequest, broker: KafkaSettings) -> TopicFactory:
    """A topic for each test."""

    def make(partitions: int = 1, **_: object) -> str:
        name = request.node.name
        create_topic(broker, name, partitions)
        return name

    return make


@dataclass(frozen=True)
class MortalTask:
    """A worker's task, in which the worker is killed once, with a file half written.

    Args:
        marker: a file that says that this has happened.
    """

    task: IngestTask
    marker: str

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """As the task does."""
        return self.task.run(self._until_killed(batches))

    def _until_killed(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            try:
                os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_is_killed_while_it_writes(
    landing: MakeLanding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream, make_task = landing(), reading.make_task
    stream.send([thing(n) for n in range(3)])
    stream.ingest()
    stream.send([thing(n) for n in range(3, 9)])
    monkeypatch.setattr(reading, "make_task", lambda *given: MortalTask(make_task(*given), f"{tmp_path}/killed"))
    with pytest.raises((PySparkException, Py4JJavaError), match="crashed"):
        stream.ingest(run_id="killed")
    assert stream.column("raw.things", "id") == [0, 1, 2]
    assert stream.holds().position == {0: 3}
    stream.ingest(run_id="next")
    assert stream.column("raw.things", "id") == list(range(9))
    assert stream.holds().read == 9


def test_a_broker_is_killed_while_it_is_read(landing: MakeLanding, local_broker: LocalBroker) -> None:
    stream = landing()
    stream.send([thing(n) for n in range(3)])
    stream.ingest()
    stream.send([thing(n) for n in range(3, 9)])
    pid, comes_back = local_broker.pid, threading.Timer(1.0, local_broker.start)
    assert pid

    def once_planned() -> AbstractContextManager[SparkSession]:
        os.kill(pid, signal.SIGKILL)
        comes_back.start()
        return stream.spark_on(stream.settings)

    try:
        ingest(replace(stream.step(run_id="bounced"), session=once_planned))
    except (LakehouseError, PySparkException) as error:  # it may have been away for too long
        print(f"refused: {error}")
        assert stream.column("raw.things", "id") == [0, 1, 2]
    comes_back.join()
    stream.ingest(run_id="next")
    assert stream.column("raw.things", "id") == list(range(9))
    assert stream.holds().read == 9
