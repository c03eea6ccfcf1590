"""Rows are written with their Kafka coordinates, refused records as they came."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lakehouse.formats.verdict import RecordError
from lakehouse.steps.ingest.workers.row_writer import RowWriter
from lakehouse.steps.ingest.workers.task_counts import TaskCounts
from lakehouse.steps.ingest.workers.work import make_task
from lakehouse_tests.steps.ingest.workers.tasks import QUARANTINE, TABLE, records, work_on_things


def writer_in(folder: Path) -> RowWriter:
    task = make_task(work_on_things(folder), set())
    return RowWriter(task.sorter.topics, "run", "prefix", task.targets, QUARANTINE, TaskCounts())


def stored(rows: pa.RecordBatch) -> list[dict[str, object]]:
    return [row for path in rows["path"].to_pylist() for row in pq.read_table(path.removeprefix("file://")).to_pylist()]


def test_rows_have_the_coordinates_of_their_records(tmp_path: Path) -> None:
    writer, arrived = writer_in(tmp_path), records({"id": 1}, None, {"id": 3}, start=5)
    writer.write(TABLE, arrived, pa.array([0, 2]).to_numpy(), pa.RecordBatch.from_pydict({"id": [1, 3]}))
    rows = stored(writer.finish()[TABLE])
    assert [(row["id"], row["_kafka_topic"], row["_kafka_offset"]) for row in rows] == [
        (1, "things", 5),
        (3, "things", 7),
    ]
    tally = writer.counts.tallies[TABLE][0]
    assert (tally.count, tally.total) == (2, 12)


def test_what_is_refused_is_kept_as_it_came(tmp_path: Path) -> None:
    writer, arrived = writer_in(tmp_path), records({"id": 1}, None)
    writer.refuse(arrived, {1: RecordError("not_json", "it ends too early")})
    [row] = stored(writer.finish()[QUARANTINE])
    assert (row["value"], row["error_class"], row["run_id"], row["_kafka_offset"]) == (b"{", "not_json", "run", 1)
    assert writer.counts.report.errors == {"not_json": 1}


def test_nothing_is_left_of_what_is_discarded(tmp_path: Path) -> None:
    writer = writer_in(tmp_path)
    writer.write(TABLE, records({"id": 1}), None, pa.RecordBatch.from_pydict({"id": [1]}))
    writer.finish()
    assert list(tmp_path.rglob("*.parquet"))
    writer.discard()
    assert not list(tmp_path.rglob("*.parquet"))
