"""What is dropped leaves its table and is tallied, so that each record goes on to be accounted for.

Guarded mechanism: files that may hold a duplicate are written anew.
"""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pandera.pyspark as pandera
import pyarrow as pa
import pyspark.sql.types as T  # noqa: N812
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import IntegerType, LongType, NestedField

from lakehouse.declarations import DropDuplicates, Stream, ToTable
from lakehouse.engines.kafka.statement import DUPLICATE, Counts
from lakehouse.engines.kafka.tally import Tally, over_tables
from lakehouse.protocol.catalog import open_catalog
from lakehouse.steps.ingest.duplicates import drop as module
from lakehouse.steps.ingest.repair.replay import replay
from lakehouse.steps.ingest.report import WriteResult
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.ingest.conftest import MakeLanding
from lakehouse_tests.steps.ingest.in_process import InProcess

NAME = "raw.things"
SCHEMA = Schema(
    NestedField(1, "_kafka_partition", IntegerType(), required=True),
    NestedField(2, "_kafka_offset", LongType(), required=True),
)
places = st.sets(st.tuples(st.integers(0, 2), st.integers(0, 40)), max_size=40)


class OnlySchema(Table):
    """A table of which nothing but its columns is asked."""

    def __init__(self) -> None:
        pass

    def schema(self) -> Schema:
        """The coordinates."""
        return SCHEMA


def file_of(path: str, partition: int, first: int, last: int) -> DataFile:
    """A data file with bounds."""
    return DataFile.from_args(
        file_path=path,
        lower_bounds={1: to_bytes(IntegerType(), partition), 2: to_bytes(LongType(), first)},
        upper_bounds={1: to_bytes(IntegerType(), partition), 2: to_bytes(LongType(), last)},
    )


def table_of(some: set[tuple[int, int]]) -> pa.Table:
    """Places as Spark gives them."""
    ordered = sorted(some)
    return pa.table(
        {
            "partition": pa.array([p for p, _ in ordered], pa.int32()),
            "offset": pa.array([o for _, o in ordered], pa.int64()),
        }
    )


@given(places, st.data())
def test_what_goes_is_tallied_and_nothing_else_changes(written: set[tuple[int, int]], data: st.DataObject) -> None:
    gone = data.draw(st.sets(st.sampled_from(sorted(written))) if written else st.just(set[tuple[int, int]]()))
    tallies = {NAME: module.tallied(table_of(written))}
    before = WriteResult({NAME: []}, tallies, Counts(read=len(written), written=len(written)))
    after = module._less(before, NAME, OnlySchema(), table_of(gone))
    assert over_tables(after.tallies) == over_tables(before.tallies)
    assert after.tallies.get(NAME, {}) == module.tallied(table_of(written - gone))
    assert after.tallies.get(DUPLICATE, {}) == module.tallied(table_of(gone))
    assert (after.counts.written, after.counts.filtered) == (len(written) - len(gone), len(gone))


def test_files_that_may_hold_a_duplicate_are_written_anew() -> None:
    files = [file_of("a", 0, 0, 9), file_of("b", 0, 10, 19), file_of("c", 1, 0, 9), DataFile.from_args(file_path="d")]
    tallies = {NAME: {0: Tally.of_range(0, 20), 1: Tally.of_range(0, 10)}}
    before = WriteResult({NAME: files}, tallies, Counts(read=30, written=30))
    after = module._less(before, NAME, OnlySchema(), table_of({(0, 12)}))
    assert ([file.file_path for file in after.files[NAME]], after.spooled[NAME]) == (["a", "c"], ["b", "d"])
    assert after.dropped == {"duplicate": {NAME: 1}}


def test_a_declared_filter_is_counted_by_partition(sql_lake: Lake) -> None:
    stream = InProcess(
        open_catalog(sql_lake.settings), Stream(name="things", topic="t", route=ToTable(NAME), max_quarantine_share=1)
    )
    columns: dict[str, Any] = {"id": T.LongType(), "country": pandera.Column(T.StringType(), nullable=True)}
    keep = {"country": pandera.Check.isin(["DE"]), "id": pandera.Check.ge(0)}
    stream.declare(declare(columns, name=NAME, keep=keep).with_coordinates())
    countries = ["DE", "FR", None, "DE", "FR"]
    records = [(None, json.dumps({"id": n - 3, "country": c}).encode()) for n, c in enumerate(countries)]
    stream.ingest({0: [*records, (None, b"broken")], 1: records[:2]})
    proof = stream.holds()
    assert (proof.read, proof.dropped) == (8, {"filtered": 6})
    assert [row["id"] for row in stream.rows(NAME)] == [0]
    assert stream.quarantined() == [(0, 5)]


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.kafka
def test_in_a_run_and_across_runs_within_a_watermark(landing: MakeLanding) -> None:
    columns = {"id": T.LongType(), "at": T.TimestampType()}
    rule = DropDuplicates(key=("id",), time="at", within=timedelta(hours=1))
    stream = landing(partitions=2, columns=columns, table={"duplicates": rule, "partitioning": ("day(at)",)})
    began = datetime(2026, 1, 1, 23, 30, tzinfo=UTC)

    def event(number: int | None, minutes: int) -> dict[str, Any]:
        return {"id": number, "at": (began + timedelta(minutes=minutes)).isoformat()}

    stream.send([event(1, 0), event(2, 0), event(1, 50), event(1, 70), event(None, 0), event(None, 0)])
    first = stream.ingest()
    assert (first.dropped, first.rows[NAME], first.counts.filtered) == ({"duplicate": {NAME: 1}}, 5, 1)
    # Late and again in another partition: of event 1 at 65 the row at 70 is near, of event 2 at 90 none.
    stream.send([event(1, 65), event(2, 90), event(3, 0)], partition=1)
    stream.send([event(3, -10)])
    second = stream.ingest()
    assert second.counts.filtered == 2
    proof = stream.holds()
    assert (proof.read, proof.dropped) == (10, {"duplicate": 3})
    kept = [(row["id"], (row["at"] - began) // timedelta(minutes=1)) for row in stream.rows(NAME, "id", "at")]
    assert sorted(kept, key=str) == sorted([(1, 0), (2, 0), (1, 70), (None, 0), (None, 0), (2, 90), kept[-1]], key=str)
    assert [number for number, _ in kept].count(3) == 1
    again = replay(stream.step(run_id="replaying"), {0: (0, 6)})
    assert all(result.equal for result in again if result.table == NAME)
