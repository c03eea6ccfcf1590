"""One task from its records to its report; what it wrote stays only if it ends well and is wanted."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from lakehouse.steps.ingest.workers.task_report import TaskReport, read_report
from lakehouse.steps.ingest.workers.work import make_task
from lakehouse.steps.ingest.workers.worker import IngestTask
from lakehouse_tests.steps.ingest.workers.tasks import QUARANTINE, TABLE, records, work_on_things


def reported(task: IngestTask, *batches: pa.RecordBatch) -> TaskReport:
    [row] = task.run(iter(batches))
    return read_report(row.column("report")[0].as_py())


def test_a_task_tells_what_it_read_and_wrote(tmp_path: Path) -> None:
    report = reported(make_task(work_on_things(tmp_path), set()), records({"id": 1}, None), records({"id": 2}, start=2))
    assert (report.read, report.errors) == (3, {"not_json": 1})
    assert {table: tallies[0][0] for table, tallies in report.tallies.items()} == {TABLE: "2", QUARANTINE: "1"}
    assert [(stretch.first, stretch.last, stretch.refused) for stretch in report.received[0]] == [(0, 2, 0)]
    assert len(list(tmp_path.rglob("*.parquet"))) == 2


def test_what_is_not_wanted_is_removed_when_it_could_be_written(tmp_path: Path) -> None:
    task = replace(make_task(work_on_things(tmp_path), set()), keep=False)
    assert reported(task, records({"id": 1})).read == 1
    assert not list(tmp_path.rglob("*.parquet"))


def test_a_task_that_fails_leaves_no_file(tmp_path: Path) -> None:
    def broken_off() -> Iterator[pa.RecordBatch]:
        yield records({"id": 1})
        raise ConnectionError("the broker is gone")

    with pytest.raises(ConnectionError):
        list(make_task(work_on_things(tmp_path), set()).run(broken_off()))
    assert not list(tmp_path.rglob("*.parquet"))
