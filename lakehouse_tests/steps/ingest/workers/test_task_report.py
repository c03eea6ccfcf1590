"""A task's report comes out of Spark as it went in."""

import pyarrow as pa

from lakehouse.steps.ingest.workers.task_report import REPORT_SCHEMA, TaskReport, ipc_bytes, read_report


def test_a_report_travels_in_one_row() -> None:
    files = pa.RecordBatch.from_pydict({"path": ["file:/t/1.parquet"]})
    report = TaskReport(
        files={"raw.things": ipc_bytes(files)},
        # Sums of squares of offsets are beyond 64 bits.
        tallies={"raw.things": {0: ("2", "3", str(2**70))}},
        errors={"not_json": 1},
        read=3,
    )
    batch = report.to_batch()
    assert [f"{field.name} {field.type}" for field in batch.schema] == [REPORT_SCHEMA]
    (encoded,) = batch.column("report").to_pylist()
    received = read_report(encoded)
    assert received == report
    assert pa.ipc.open_stream(received.files["raw.things"]).read_all().to_batches() == [files]
