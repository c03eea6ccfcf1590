"""One topic to one table: every record is a row as it was sent, or in quarantine with the reason, once."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pandera.pyspark as pa
import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.engines.kafka import Record, send
from lakehouse.protocol.cleanup.housekeeping import abandoned_branches
from lakehouse.steps.ingest.completeness import RecordsDiffer
from lakehouse.steps.ingest.gate import TooMuchQuarantined
from lakehouse.steps.ingest.workers import reading
from lakehouse.steps.ingest.workers.scan import kafka_frame
from lakehouse_tests.steps.ingest.conftest import MakeLanding, thing

pytestmark = [pytest.mark.fast, pytest.mark.spark, pytest.mark.kafka]

SHIPMENT = {
    "id": pa.Column(T.LongType(), nullable=False),
    "price": T.DecimalType(12, 3),
    "at": T.TimestampType(),
    "local": T.TimestampNTZType(),
    "day": T.DateType(),
    "tags": T.ArrayType(T.StringType()),
    "place": T.StructType([T.StructField("lat", T.DoubleType(), False), T.StructField("name", T.StringType())]),
    "amounts": T.MapType(T.StringType(), T.LongType()),
    "lines": T.ArrayType(T.StructType([T.StructField("n", T.IntegerType()), T.StructField("ok", T.BooleanType())])),
}


def test_every_type_arrives_as_it_was_sent(landing: MakeLanding) -> None:
    stream = landing(columns=SHIPMENT)
    sent: dict[str, Any] = {
        "id": 7,
        "price": "123456789.125",
        "at": "2013-05-01T12:30:00.123456+02:00",
        "local": "2013-05-01T12:30:00.5",
        "day": "2013-05-01",
        "tags": ["x", None, "ü"],
        "place": {"lat": 47.5, "name": None},
        "amounts": {"a": 1, "b": None},
        "lines": [{"n": 1, "ok": True}, {"n": None, "ok": None}],
    }
    stream.send([sent, {"id": 8}])
    report = stream.ingest()
    first, second = stream.rows("raw.things")
    assert {name: first[name] for name in SHIPMENT} == {
        "id": 7,
        "price": Decimal("123456789.125"),
        "at": datetime(2013, 5, 1, 10, 30, 0, 123456, tzinfo=UTC),
        "local": datetime(2013, 5, 1, 12, 30, 0, 500000),  # noqa: DTZ001 - that is what it is
        "day": datetime(2013, 5, 1, tzinfo=UTC).date(),
        "tags": ["x", None, "ü"],
        "place": {"lat": 47.5, "name": None},
        "amounts": [("a", 1), ("b", None)],
        "lines": [{"n": 1, "ok": True}, {"n": None, "ok": None}],
    }
    # PyIceberg reads a missing list of structs as an empty one; below, Spark reads it as it is.
    assert {name: second[name] for name in SHIPMENT} == {**dict.fromkeys(SHIPMENT), "id": 8, "lines": []}
    assert (first["_kafka_topic"], first["_kafka_partition"], first["_kafka_offset"]) == (stream.stream.topic, 0, 0)
    assert abs((datetime.now(UTC) - first["_kafka_timestamp"]).total_seconds()) < 600
    assert report.rows == {"raw.things": 2}
    assert stream.holds().read == 2


def test_spark_reads_what_the_workers_wrote_as_pyiceberg_does(landing: MakeLanding) -> None:
    stream = landing(columns=SHIPMENT)
    stream.send([{"id": n, "price": f"{n}.5", "tags": ["t"] * n, "amounts": {"n": n}} for n in range(5)])
    stream.ingest()
    with stream.spark_on(stream.settings) as spark:
        table = spark.table("lake.raw.things").orderBy("id")
        assert table.where("lines IS NULL AND place IS NULL AND at IS NULL").count() == 5
        rows = table.select("id", "price", "tags", "amounts").collect()
    assert [(r.id, r.price, r.tags, r.amounts) for r in rows] == [
        (r["id"], r["price"], r["tags"], dict(r["amounts"])) for r in stream.rows("raw.things")
    ]


def test_what_cannot_be_a_row_is_in_quarantine_with_the_reason(landing: MakeLanding) -> None:
    columns = {
        "id": pa.Column(T.IntegerType(), nullable=False),
        "code": pa.Column(T.StringType(), checks=pa.Check.isin(["x", "y"]), nullable=True),
    }
    stream = landing(columns=columns)
    stream.send(
        [
            {"id": 1, "code": "x"},
            b"not json {",
            b"[1, 2]",
            {"code": "x"},
            {"id": "one"},
            {"id": 2**40},
            {"id": 2, "code": "z"},
            None,
            {"id": 3, "code": None},
        ]
    )
    report = stream.ingest(run_id="the-run")
    assert stream.column("raw.things", "id") == [1, 3]
    assert stream.quarantined() == [
        (1, "not_json"),
        (2, "not_an_object"),
        (3, "missing_field"),
        (4, "wrong_type"),
        (5, "out_of_range"),
        (6, "rule"),
        (7, "tombstone"),
    ]
    assert (report.counts.read, report.counts.written, report.counts.quarantined) == (9, 2, 7)
    assert report.counts.tombstones == 1
    assert report.quarantine_share == pytest.approx(6 / 9)
    assert report.errors["rule"] == 1
    assert stream.holds().read == 9


def test_a_quarantined_record_is_kept_as_it_came(landing: MakeLanding) -> None:
    stream = landing()
    headers = (("trace", b"\x00\xff"), ("trace", b"2"))
    send(stream.kafka, stream.stream.topic, [Record(b"\xff{", key=b"k\x00", partition=0, headers=headers)])
    stream.ingest(run_id="the-run")
    (row,) = stream.rows("quarantine.things")
    assert (row["key"], row["value"], row["run_id"]) == (b"k\x00", b"\xff{", "the-run")
    assert row["headers"] == [{"key": "trace", "value": b"\x00\xff"}, {"key": "trace", "value": b"2"}]
    assert row["error_class"] == "not_json"
    assert "things" not in row["error_message"]


def test_a_rule_that_only_warns_lets_the_record_in_and_counts_it(landing: MakeLanding) -> None:
    check = pa.Check.greater_than(0, raise_warning=True)
    stream = landing(columns={"id": pa.Column(T.LongType(), checks=check, nullable=False)})
    stream.send([{"id": 1}, {"id": -1}, {"id": -2}])
    report = stream.ingest()
    assert stream.column("raw.things", "id") == [1, -1, -2]
    assert [list(rules.values()) for rules in report.warnings.values()] == [[2]]
    assert stream.quarantined() == []


def test_too_many_broken_records_publish_nothing_and_the_position_stays(landing: MakeLanding) -> None:
    stream = landing(max_quarantine_share=0.25, max_quarantine_records=1)
    stream.send([thing(1), thing(2), thing(3), b"x"])
    assert stream.ingest().counts.quarantined == 1
    stream.send([thing(4), b"x", thing(5) | {"id": "5"}, None])
    pattern = r"2 of 4 records .*50\.00%, allowed 25\.00%; not_json: 1, tombstone: 1, wrong_type: 1 \(id: 1\)"
    with pytest.raises(TooMuchQuarantined, match=pattern) as refused:
        stream.ingest()
    assert "nothing was published" in str(refused.value)
    assert stream.column("raw.things", "id") == [1, 2, 3]
    assert stream.quarantined() == [(3, "not_json")]
    assert stream.holds().position == {0: 4}
    stream.send([thing(n) for n in range(5, 10)])
    assert stream.ingest().counts.read == 9
    assert stream.column("raw.things", "id") == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert stream.holds().read == 13


def test_a_record_that_is_lost_between_kafka_and_the_workers_is_missed(
    landing: MakeLanding, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = landing(config={"cleanup.policy": "compact"})
    send(stream.kafka, stream.stream.topic, [Record(b'{"id": %d}' % n, key=b"%d" % n) for n in range(6)])
    with monkeypatch.context() as patch:
        patch.setattr(reading, "kafka_frame", lambda *args, **more: kafka_frame(*args, **more).where("offset != 3"))
        for _ in range(2):
            with pytest.raises(RecordsDiffer, match="did not receive: partition 0 offset 3; nothing was published"):
                stream.ingest()
    for name in ("raw.things", "quarantine.things"):
        left = abandoned_branches(stream.load(name), older_than=timedelta(0))
        assert len(left) == 1, "of the batches that were refused the newest stays"
    stream.ingest()
    assert stream.column("raw.things", "id") == [0, 1, 2, 3, 4, 5]
    assert stream.holds().invisible == 0


def test_tombstones_are_kept_and_do_not_count_as_broken(landing: MakeLanding) -> None:
    stream = landing(max_quarantine_share=0.0)
    stream.send([None, thing(1), None])
    stream.ingest()
    assert stream.quarantined() == [(0, "tombstone"), (2, "tombstone")]


def test_caps_cut_a_backlog_into_runs_that_miss_nothing(landing: MakeLanding) -> None:
    stream = landing(partitions=3)
    for partition, count in enumerate((10, 0, 4)):
        stream.send([thing(100 * partition + n) for n in range(count)], partition=partition)
    lags = []
    while (report := stream.ingest(max_records_per_run=5)).published is not None:
        lags.append(report.lag)
    assert lags == [9, 4, 0]
    assert stream.column("raw.things", "id") == [*range(10), *range(200, 204)]
    assert stream.holds().seals == 3


def test_a_cap_in_bytes_is_kept_by_what_records_weigh(landing: MakeLanding) -> None:
    stream = landing()
    stream.send([{"id": n, "text": "x" * 1000} for n in range(30)])
    assert stream.ingest(max_bytes_per_run=10_000).counts.read in range(8, 12)
    assert stream.ingest(max_bytes_per_run=5_000).counts.read in range(3, 7)


def test_nothing_new_means_nothing_is_written_and_spark_is_not_even_opened(landing: MakeLanding) -> None:
    stream = landing()
    stream.send([thing(1)])
    stream.ingest()
    before = {name: stream.load(name).metadata_location for name in stream.declarations.tables}

    def no_session() -> Any:
        raise AssertionError("Spark is not needed")

    stream.spark_on = lambda catalog: no_session()
    assert stream.ingest().published is None
    assert {name: stream.load(name).metadata_location for name in stream.declarations.tables} == before


def test_a_first_run_on_an_empty_topic_seals_a_position(landing: MakeLanding) -> None:
    stream = landing(partitions=2)
    assert stream.ingest().published is not None
    assert stream.holds().position == {0: 0, 1: 0}
    assert stream.ingest().published is None
