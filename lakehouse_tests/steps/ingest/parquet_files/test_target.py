"""Which tables the workers write by themselves, and what Spark has to write."""

from typing import Any

import pytest
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER, SortField, SortOrder
from pyiceberg.transforms import (
    BucketTransform,
    IdentityTransform,
    TruncateTransform,
    UnknownTransform,
)
from pyiceberg.types import (
    DoubleType,
    IntegerType,
    LongType,
    NestedField,
    StructType,
    UUIDType,
)

from lakehouse.steps.ingest.parquet_files import (
    unsupported,
)
from lakehouse.steps.ingest.parquet_files.target import WriteTarget, storage_properties
from lakehouse_tests.steps.ingest.parquet_files.test_writer import SCHEMA, metadata


def test_plain_tables_are_supported() -> None:
    assert unsupported(metadata("s3://b/t", PartitionSpec(PartitionField(1, 1000, BucketTransform(4), "b")))) is None


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (metadata("file:/t", write_format_default="orc"), "file format orc"),
        (metadata("file:/t", write_distribution__mode="range"), "range"),
        (metadata("file:/t", write_location__provider_impl="com.X"), "write.location-provider.impl"),
        (metadata("file:/t", write_parquet_bloom__filter__enabled_column_id="true"), "bloom-filter"),
        (metadata("file:/t", schema=Schema(NestedField(1, "u", UUIDType()))), "column u of type uuid"),
        (metadata("file:/t", schema=Schema(NestedField(1, "a-b", LongType()))), "column name 'a-b'"),
        (
            metadata("file:/t", schema=Schema(*[NestedField(i, f"c{i}", LongType()) for i in range(1, 102)])),
            "100 columns",
        ),
    ],
)
def test_what_spark_must_write_itself_is_named(table: TableMetadata, reason: str) -> None:
    assert reason in (unsupported(table) or "")


@pytest.mark.parametrize(
    ("source", "transform", "reason"),
    [
        (2, IdentityTransform(), "of type double"),
        (3, TruncateTransform(10), "truncated number"),
        (5, IdentityTransform(), "from within a struct"),
        (3, UnknownTransform("zorder"), "partition transform"),
    ],
)
def test_partitions_that_spark_must_write_itself_are_named(source: int, transform: Any, reason: str) -> None:
    schema = Schema(
        NestedField(1, "id", LongType()),
        NestedField(2, "x", DoubleType()),
        NestedField(3, "n", IntegerType()),
        NestedField(4, "s", StructType(NestedField(5, "inner", LongType()))),
    )
    spec = PartitionSpec(PartitionField(source, 1000, transform, "p"))
    assert reason in (unsupported(metadata("file:/t", spec, schema)) or "")


def test_sorted_and_newer_tables_are_sparks() -> None:
    order = SortOrder(SortField(1, IdentityTransform()))
    by_id = new_table_metadata(SCHEMA, UNPARTITIONED_PARTITION_SPEC, order, "file:/t", {})
    assert unsupported(by_id) == "a sort order"
    newer = new_table_metadata(
        SCHEMA, UNPARTITIONED_PARTITION_SPEC, UNSORTED_SORT_ORDER, "file:/t", {"format-version": "3"}
    )
    assert unsupported(newer) == "format version 3"


def test_a_worker_is_told_of_the_storage_and_not_of_the_catalogs_login() -> None:
    login = {"uri": "postgresql://lake:hunter2@host/lake", "credential": "id:hunter2", "token": "hunter2"}
    more = {"header.Authorization": "hunter2", "oauth2-server-uri": "https://idp", "rest.sigv4-enabled": "true"}
    storage = {"s3.endpoint": "https://store", "s3.session-token": "lent", "py-io-impl": "x.Y", "client.region": "eu"}
    target = WriteTarget.of(metadata("s3://b/t"), {**login, **more, **storage})
    assert target.io_properties == storage
    signed = {**login, "s3.signer": "S3V4RestSigner"}
    assert storage_properties(signed) == signed
