"""CPU per record of what a worker does: decode, route, judge, write. `python benchmarks/decode_write.py [records]`"""

import datetime as dt
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pandera.pyspark as pandera
import pyarrow as pa
import pyspark.sql.types as spark
from pandera.pyspark import Field
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.transforms import BucketTransform, DayTransform

from lakehouse.contracts.rules import compile_rules
from lakehouse.declarations import Table, iceberg_schema
from lakehouse.formats.json import JsonDecoder, RoutedDecoder
from lakehouse.steps.ingest.parquet_files import ParquetFiles, WriteTarget

COORDINATES = ("_kafka_topic", "_kafka_partition", "_kafka_offset", "_kafka_timestamp")


class Events(pandera.DataFrameModel):
    """Eight fields, one of them a timestamp."""

    id: spark.LongType = Field(ge=0)
    at: spark.TimestampType = Field()
    user: spark.StringType = Field(str_matches="user")
    amount: spark.IntegerType = Field(in_range={"min_value": 0, "max_value": 1000})
    score: spark.DoubleType = Field(nullable=True)
    fresh: spark.BooleanType = Field()
    country: spark.StringType = Field(isin=["de", "fr", "pl"])
    shard: spark.IntegerType = Field()


def events(count: int) -> list[bytes]:
    """Records of about 126 bytes."""
    draw = random.Random(7)
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    records: list[bytes] = []
    for i in range(count):
        record = {
            "id": i,
            "at": (start + dt.timedelta(microseconds=draw.randrange(10**13))).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "user": f"user{draw.randrange(50_000)}",
            "amount": draw.randrange(1000),
            "score": round(draw.random() * 100, 3),
            "fresh": i % 2 == 0,
            "country": ("de", "fr", "pl")[i % 3],
            "shard": draw.randrange(13),
        }
        records.append(json.dumps(record, separators=(",", ":")).encode())
    return records


def measure(name: str, count: int, work: Callable[[], object]) -> None:
    """The best of five, in CPU time of this process."""
    work()
    best = float("inf")
    for _ in range(5):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    print(f"{name:42} {best / count * 1e6:6.3f} µs/record")


def main(count: int) -> None:
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    table = Table(name="raw.events", schema=Events, description="Events", owner="benchmark")
    records = events(count)
    values = pa.array(records, pa.binary())
    print(f"{count} records of {sum(map(len, records)) / count:.0f} bytes, one thread")

    own = schema_to_pyarrow(iceberg_schema(table.without_coordinates()), include_field_ids=False)
    decoder = JsonDecoder(own)
    measure("decode", count, lambda: decoder.decode(values))
    for share in (0.01, 0.1, 1):
        draw = random.Random(3)
        bad = pa.array([b'{"id":"x"}' if draw.random() < share else record for record in records], pa.binary())
        measure(f"decode, {share:.0%} with a wrong type", count, lambda bad=bad: decoder.decode(bad))
    routed = RoutedDecoder("kind", {f"r{i}": own for i in range(5)})
    mixed = pa.array([b'{"kind":"r%d",' % (i % 5) + record[1:] for i, record in enumerate(records)], pa.binary())
    measure("decode, routed to five tables", count, lambda: routed.decode(mixed))

    batch = decoder.decode(values).batch
    rules = compile_rules(table.without_coordinates())
    measure("rules (4)", count, lambda: (rules.judge(batch), rules.warnings(batch)))

    def with_coordinates(columns: pa.RecordBatch) -> pa.RecordBatch:
        arrays = [*columns.columns, pa.repeat("events", count), *coordinates]
        return pa.RecordBatch.from_arrays(arrays, names=[*columns.schema.names, *COORDINATES])

    stamps = pa.array([1_767_225_600_000_000 + i * 37 for i in range(count)], pa.int64())
    coordinates = [
        pa.repeat(pa.scalar(3, pa.int32()), count),
        pa.array(range(count), pa.int64()),
        stamps.cast(pa.timestamp("us", "UTC")),
    ]
    full = with_coordinates(batch)
    schema = iceberg_schema(table)
    with tempfile.TemporaryDirectory() as folder:
        serial = iter(range(10**6))

        def write(spec: PartitionSpec, rows: Callable[[], pa.RecordBatch], level: str = "") -> int:
            properties = {"write.parquet.compression-level": level} if level else {}
            location = f"{Path(folder).as_uri()}/t"
            metadata = new_table_metadata(schema, spec, UNSORTED_SORT_ORDER, location, properties)
            files = ParquetFiles(WriteTarget.of(metadata, {}), f"w{next(serial)}")
            files.write(rows())
            return sum(files.finish()["file_size"].to_pylist())

        day = PartitionSpec(PartitionField(2, 1000, DayTransform(), "day"))
        bucket = PartitionSpec(PartitionField(1, 1000, BucketTransform(8), "bucket"))
        for level in ("1", "3"):
            size = write(UNPARTITIONED_PARTITION_SPEC, lambda: full, level) / count
            name = f"write, zstd {level} ({size:.1f} bytes/record)"
            measure(name, count, lambda level=level: write(UNPARTITIONED_PARTITION_SPEC, lambda: full, level))
        measure("write, 116 days", count, lambda: write(day, lambda: full))
        measure("write, 8 buckets", count, lambda: write(bucket, lambda: full))

        def everything() -> pa.RecordBatch:
            decoded = decoder.decode(values).batch
            assert not rules.judge(decoded)
            return with_coordinates(decoded)

        measure("decode, rules and write", count, lambda: write(UNPARTITIONED_PARTITION_SPEC, everything))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
