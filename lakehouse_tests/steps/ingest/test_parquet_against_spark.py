"""Our files against Spark's own Iceberg writer: the same rows, types, partitions and metrics, read alike by Spark."""

import datetime as dt
import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from pyiceberg.conversions import from_bytes
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    PrimitiveType,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
)
from pyspark.sql import SparkSession

from lakehouse.formats.json import small_types
from lakehouse.steps.ingest.parquet_files import ParquetFiles, WriteTarget, data_files_from_rows, unsupported
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.formats.json.documents import corpus

pytestmark = pytest.mark.spark

_DECLARED = Schema(
    NestedField(1, "flag", BooleanType()),
    NestedField(2, "number", IntegerType()),
    NestedField(3, "id", LongType(), required=True),
    NestedField(4, "single", FloatType()),
    NestedField(5, "double", DoubleType()),
    NestedField(6, "small", DecimalType(7, 2)),
    NestedField(7, "middle", DecimalType(18, 3)),
    NestedField(8, "large", DecimalType(38, 10)),
    NestedField(9, "text", StringType()),
    NestedField(10, "raw", BinaryType()),
    NestedField(11, "day", DateType()),
    NestedField(12, "at", TimestamptzType()),
    NestedField(13, "local", TimestampType()),
    NestedField(14, "place", StructType(NestedField(15, "x", DoubleType()), NestedField(16, "name", StringType()))),
    NestedField(17, "names", ListType(18, StringType(), element_required=False)),
    NestedField(
        19, "legs", ListType(20, StructType(NestedField(21, "to", LongType(), required=False)), element_required=False)
    ),
    NestedField(22, "counts", MapType(23, StringType(), 24, DecimalType(9, 1), value_required=False)),
)
# Numbered as a catalog does it, level by level.
SCHEMA = assign_fresh_schema_ids(_DECLARED)
ARROW = small_types(schema_to_pyarrow(SCHEMA, include_field_ids=False))

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
DECIMALS = {(7, 2): 10**7, (18, 3): 10**18, (38, 10): 10**38, (9, 1): 10**9}


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    bound = 10**precision - 1
    return st.integers(-bound, bound).map(lambda unscaled: Decimal(f"{unscaled}e-{scale}"))


MOMENTS = st.datetimes(dt.datetime(1890, 1, 1), dt.datetime(2200, 1, 1))  # noqa: DTZ001
DOUBLES = st.floats(allow_nan=True, allow_infinity=True)
LEGS = st.fixed_dictionaries({"to": st.integers(0, 9) | st.none()})
COUNTS = st.dictionaries(TEXT, decimals(9, 1) | st.none(), max_size=2)
ROWS = st.fixed_dictionaries(
    {
        "flag": st.booleans() | st.none(),
        "number": st.integers(-(2**31), 2**31 - 1) | st.none(),
        "id": st.integers(-(2**63), 2**63 - 1),
        "single": st.floats(width=32) | st.none(),
        "double": DOUBLES | st.none(),
        "small": decimals(7, 2) | st.none(),
        "middle": decimals(18, 3) | st.none(),
        "large": decimals(38, 10) | st.none(),
        "text": TEXT | st.sampled_from(["a/b=c %", "\U0010ffff" * 20, "x" * 40]) | st.none(),
        "raw": st.binary(max_size=30) | st.sampled_from([b"\xff" * 20]) | st.none(),
        "day": MOMENTS.map(lambda moment: moment.date()) | st.none(),
        "at": MOMENTS.map(lambda moment: moment.replace(tzinfo=dt.UTC)) | st.none(),
        "local": MOMENTS | st.none(),
        "place": st.fixed_dictionaries({"x": DOUBLES | st.none(), "name": TEXT | st.none()}) | st.none(),
        "names": st.lists(TEXT | st.none(), max_size=3) | st.none(),
        "legs": st.lists(LEGS | st.none(), max_size=2) | st.none(),
        "counts": COUNTS.map(lambda counts: list(counts.items())) | st.none(),
    }
)

LAYOUTS: dict[str, list[tuple[int, Transform[Any, Any]]]] = {
    "one file": [],
    "flag": [(1, IdentityTransform())],
    "bucket of a long": [(3, BucketTransform(4))],
    "bucket of text": [(9, BucketTransform(3))],
    "bucket of a decimal": [(6, BucketTransform(3))],
    "bucket of a date and of moments": [(11, BucketTransform(2)), (12, BucketTransform(2))],
    "truncated text": [(9, TruncateTransform(1))],
    "truncated bytes": [(10, TruncateTransform(1))],
    "year of a date": [(11, YearTransform())],
    "year and flag": [(12, YearTransform()), (1, IdentityTransform())],
    "month": [(13, MonthTransform())],
}
FEW: dict[str, list[tuple[int, Transform[Any, Any]]]] = {
    "day": [(12, DayTransform())],
    "hour": [(13, HourTransform())],
    "date": [(11, IdentityTransform())],
    "moment": [(12, IdentityTransform())],
    "text": [(9, IdentityTransform())],
    "decimal": [(8, IdentityTransform())],
    "binary": [(10, IdentityTransform())],
}


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    """Rows with everything in them."""
    return pa.Table.from_pylist(corpus(ROWS, 150), schema=ARROW)


@pytest.fixture
def session(spark_on: SparkOn, sql_lake: Lake) -> Iterator[SparkSession]:
    with spark_on(sql_lake.settings) as session:
        yield session


@pytest.mark.slow
@pytest.mark.parametrize("layout", [*LAYOUTS, *FEW])
def test_files_are_as_if_spark_had_written_them(
    sql_lake: Lake, session: SparkSession, rows: pa.Table, layout: str
) -> None:
    few = layout in FEW
    data = rows.slice(0, 25) if few else rows
    fields = [
        PartitionField(source, 1000 + i, transform, f"p{i}")
        for i, (source, transform) in enumerate((FEW if few else LAYOUTS)[layout])
    ]
    ours, theirs = create(sql_lake, "ours", fields), create(sql_lake, "theirs", fields)
    write_by_spark(session, theirs, data)
    write_by_ourselves(sql_lake, ours, data)

    our_files, their_files = files_of(sql_lake, ours), files_of(sql_lake, theirs)
    assert our_files.keys() == their_files.keys()
    for partition, file in our_files.items():
        assert metrics(file) == metrics(their_files[partition]), partition
    assert read(session, ours) == read(session, theirs) == expected(data)


@pytest.mark.parametrize("mode", ["none", "counts", "full", "truncate(3)"])
def test_metrics_modes_are_honoured(sql_lake: Lake, session: SparkSession, rows: pa.Table, mode: str) -> None:
    properties = {"write.metadata.metrics.default": mode, "write.metadata.metrics.column.id": "full"}
    ours, theirs = create(sql_lake, "ours", [], properties), create(sql_lake, "theirs", [], properties)
    write_by_spark(session, theirs, rows)
    write_by_ourselves(sql_lake, ours, rows)
    [our_file], [their_file] = files_of(sql_lake, ours).values(), files_of(sql_lake, theirs).values()
    assert metrics(our_file) == metrics(their_file)


def create(lake: Lake, name: str, fields: list[PartitionField], properties: dict[str, str] | None = None) -> str:
    identifier = (lake.namespace, name)
    lake.catalog.create_table(identifier, SCHEMA, partition_spec=PartitionSpec(*fields), properties=properties or {})
    return ".".join(identifier)


def write_by_spark(session: SparkSession, name: str, data: pa.Table) -> None:
    frame = session.createDataFrame(data, schema=session.table(f"lake.{name}").schema)
    writer = frame.coalesce(1).writeTo(f"lake.{name}")
    writer.option("fanout-enabled", "true").option("distribution-mode", "none").append()


def write_by_ourselves(lake: Lake, name: str, data: pa.Table) -> None:
    table = lake.load(name)
    assert unsupported(table.metadata) is None
    files = ParquetFiles(WriteTarget.of(table.metadata, table.io.properties), "attempt")
    for batch in data.to_batches(max_chunksize=40):
        files.write(batch)
    written = files.finish().to_pylist()
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for file in data_files_from_rows(table.metadata, written):
            append.append_data_file(file)


def files_of(lake: Lake, name: str) -> dict[tuple[Any, ...], DataFile]:
    """The files of the current snapshot by partition; each partition has one."""
    table = lake.load(name)
    snapshot = table.current_snapshot()
    assert snapshot is not None
    entries = [entry for m in snapshot.manifests(table.io) for entry in m.fetch_manifest_entry(table.io)]
    by_partition = {tuple(entry.data_file.partition): entry.data_file for entry in entries}
    assert len(by_partition) == len(entries)
    return by_partition


def metrics(file: DataFile) -> dict[str, Any]:
    """What both writers should say of the same rows."""
    return {
        "records": file.record_count,
        "values": flat(file.value_counts),
        "nulls": flat(file.null_value_counts),
        "nans": flat(file.nan_value_counts),
        "lower": bounds(file.lower_bounds),
        "upper": bounds(file.upper_bounds),
    }


def flat(counts: Mapping[int, int] | None) -> dict[int, int]:
    return dict((counts or {}).items())


def bounds(encoded: dict[int, bytes]) -> dict[int, Any]:
    values: dict[int, Any] = {}
    for field_id, value in (encoded or {}).items():
        kind = SCHEMA.find_field(field_id).field_type
        assert isinstance(kind, PrimitiveType)
        # Parquet writes a bound of zero as -0.0 below and 0.0 above, whatever the sign of the zeros in the column.
        bound = from_bytes(kind, value)
        values[field_id] = repr(bound + 0.0 if isinstance(bound, float) else bound)
    return values


def read(session: SparkSession, name: str) -> list[str]:
    return expected(session.table(f"lake.{name}").toArrow())


def expected(data: pa.Table) -> list[str]:
    """Rows as text, in order of the text."""
    return sorted(repr(plain(row)) for row in data.to_pylist())


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    if isinstance(value, dt.datetime) and value.tzinfo:
        return value.astimezone(dt.UTC).isoformat()
    return "nan" if isinstance(value, float) and math.isnan(value) else value
