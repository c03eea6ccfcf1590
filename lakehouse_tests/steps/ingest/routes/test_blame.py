"""A table whose records are not acceptable stops alone; where all or none are to blame, the stream stops."""

import json
from pathlib import Path

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import Avro, ByField, Stream
from lakehouse.protocol.catalog import open_catalog
from lakehouse.steps.ingest.gate import TooMuchQuarantined
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.formats.avro.writing import encoded, record
from lakehouse_tests.steps.ingest.in_process import InProcess

A, B = "raw.a", "raw.b"
COLUMNS = {"id": pandera.Column(T.LongType(), nullable=False)}


def stream_of(folder: Path, **more: object) -> InProcess:
    declared = Stream(name="things", topic="t", route=ByField("kind", {"a": A, "b": B}), **more)  # type: ignore[arg-type]
    made = InProcess(open_catalog(sql_settings(folder)), declared)
    made.declare(*(declare(dict(COLUMNS), name).with_coordinates() for name in (A, B)))
    return made


def send(stream: InProcess, *records: tuple[str, object], partition: int = 0) -> None:
    stream.ingest({partition: [(None, json.dumps({"kind": k, "id": i}).encode()) for k, i in records]})


def counts(stream: InProcess) -> tuple[int, int, int]:
    return len(stream.rows(A)), len(stream.rows(B)), len(stream.quarantined())


GOOD_B = [("b", n) for n in range(30)]
BROKEN_A = [("a", "none")] * 30


def test_the_table_to_blame_stops_and_goes_on_after_its_records_were_taken_up(tmp_path: Path) -> None:
    stream = stream_of(tmp_path)
    send(stream, ("a", 0), *BROKEN_A, *GOOD_B)
    assert counts(stream) == (0, 30, 31)
    assert {row["error_class"] for row in stream.rows("quarantine.things", "error_class")} == {"table_stopped"}
    send(stream, ("a", 1), *GOOD_B)  # good again, and a person has yet to look
    assert counts(stream) == (0, 60, 32)
    stream.holds()
    stream.reprocess()
    assert counts(stream) == (2, 60, 30)
    send(stream, ("a", 2), ("b", 2))
    assert counts(stream) == (3, 61, 30)
    assert stream.holds().read == 94


def test_where_all_tables_are_to_blame_or_none_nothing_is_published(tmp_path: Path) -> None:
    stream = stream_of(tmp_path)
    for records in ([*BROKEN_A, *[("b", "none")] * 30], [("c", 1)] * 30):
        with pytest.raises(TooMuchQuarantined):
            send(stream, *records)
        stream.ends.clear()
        assert counts(stream) == (0, 0, 0)


def test_the_newest_of_a_partition_are_the_blame_of_their_table(tmp_path: Path) -> None:
    stream = stream_of(tmp_path)
    send(stream, *GOOD_B, *BROKEN_A[:15])
    assert counts(stream) == (0, 30, 15)
    send(stream, *BROKEN_A[:10])
    assert counts(stream) == (0, 30, 25)
    waiting = [row["error_class"] for row in stream.rows("quarantine.things", "error_class")]
    assert waiting == ["wrong_type"] * 15 + ["table_stopped"] * 10


def test_a_format_with_a_schema_names_the_table_to_blame_as_well(tmp_path: Path) -> None:
    file, schema = tmp_path / "t.avsc", record(("kind", "string"), ("id", ["null", "long"]))
    file.write_text(schema, encoding="utf-8")
    stream = stream_of(tmp_path, format=Avro(file))
    lines = [("b", 1), *[("a", None)] * 30]
    stream.ingest({0: [(None, encoded(schema, {"kind": k, "id": i})) for k, i in lines]})
    assert counts(stream) == (0, 1, 30)
    stream.holds()
