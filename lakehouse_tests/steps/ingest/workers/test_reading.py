"""A plan goes to the workers once; what they wrote in vain is removed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lakehouse.settings import KafkaSettings
from lakehouse.steps.ingest.workers import reading
from lakehouse_tests.steps.ingest.workers.tasks import QUARANTINE, TABLE, records, work_on_things

KAFKA = KafkaSettings(bootstrap_servers="127.0.0.1:1")


@dataclass
class Frame:
    """What Spark would read of Kafka, in two tasks."""

    tasks: list[list[pa.RecordBatch]]

    def mapInArrow(self, run: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], schema: str) -> "Frame":  # noqa: N802
        return Frame([list(run(iter(batches))) for batches in self.tasks])

    def collect(self) -> list[dict[str, Any]]:
        return [row for batches in self.tasks for batch in batches for row in batch.to_pylist()]


def test_what_all_tasks_did_is_one_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = Frame([[records({"id": 1}, None)], [records({"id": 2}, start=2)]])
    monkeypatch.setattr(reading, "kafka_frame", lambda *args, **more: frame)
    work = work_on_things(tmp_path)
    result = reading.read_and_write(None, KAFKA, work, min_partitions=1)  # type: ignore[arg-type]
    assert (result.counts.read, result.counts.written, result.counts.quarantined) == (3, 2, 1)
    assert {table: len(files) for table, files in result.files.items()} == {TABLE: 2, QUARANTINE: 1}
    assert len(list(tmp_path.rglob("*.parquet"))) == 3
    reading.remove_written(replace(work, keep=False), result)  # the workers themselves have removed it
    assert len(list(tmp_path.rglob("*.parquet"))) == 3
    reading.remove_written(work, result)
    assert not list(tmp_path.rglob("*.parquet"))
