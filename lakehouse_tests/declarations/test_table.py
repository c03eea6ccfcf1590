"""Every mistake in a table's declaration is refused at once, with a remedy."""

from typing import Any

import pandera.pyspark as pa
import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import COORDINATES, DeclarationError, Table
from lakehouse_tests.declarations.declaring import declare

COLUMNS = {
    "id": pa.Column(T.LongType()),
    "ts": pa.Column(T.TimestampType()),
    "day": pa.Column(T.DateType()),
    "code": T.StringType(),
    "amount": T.DecimalType(10, 2),
    "share": T.DoubleType(),
    "tags": pa.Column(T.ArrayType(T.StringType())),
    "secret": pa.Column(T.StringType(), metadata={"sensitive": True}),
}
BORN = pa.Column(T.DateType(), metadata={"sensitive": True})


def refusal(**more: Any) -> str:
    with pytest.raises(DeclarationError) as caught:
        declare(more.pop("columns", COLUMNS), **more)
    assert "Remedy: " in str(caught.value)
    return str(caught.value)


def test_a_model_reads_as_it_is_written() -> None:
    class Things(pa.DataFrameModel):
        id: int = pa.Field(gt=0, description="Number")
        where: T.StructType([T.StructField("lat", T.DoubleType(), nullable=False)]) = pa.Field(nullable=True)
        prices: T.ArrayType(T.DecimalType(10, 2), False)
        size: int | None
        seen: T.TimestampNTZType = pa.Field(alias="last_seen", metadata={"severity": "warning", "sensitive": True})

    table = Table(name="raw.things", schema=Things, description="Things.", owner="me", key=("id",))
    number, where, prices, size, seen = table.columns
    assert (number.name, number.type, number.required, number.doc) == ("id", T.IntegerType(), True, "Number")
    assert [check.name for check in number.checks] == ["greater_than"]
    assert (number.sensitive, number.severity) == (False, "blocking")
    assert (where.required, where.type) == (False, T.StructType([T.StructField("lat", T.DoubleType(), False)]))
    assert prices.type == T.ArrayType(T.DecimalType(10, 2), containsNull=False)
    assert (size.type, size.required) == (T.IntegerType(), False)
    assert (seen.name, seen.sensitive, seen.severity) == ("last_seen", True, "warning")
    assert table.identifier == ("raw", "things")


def test_coordinates_come_last_and_only_once() -> None:
    table = declare(COLUMNS, partitioning=("month(ts)",))
    streamed = table.with_coordinates()
    assert streamed.columns == (*table.columns, *COORDINATES)
    assert streamed.with_coordinates() is streamed
    assert streamed.own_columns == table.columns
    assert streamed.without_coordinates().columns == table.columns
    assert all(column.required for column in COORDINATES)


@pytest.mark.parametrize(
    "name", ["flights", "raw.flights.all", "1raw.flights", "raw.fl-ights", "raw.", "räw.flights", ""]
)
def test_a_table_is_named_by_two_identifiers(name: str) -> None:
    assert "cannot name a table" in refusal(name=name)


@pytest.mark.parametrize(
    "name",
    ["_partition", "_file", "_pos", "_deleted", "_spec_id", "_row_id", "_last_updated_sequence_number", "_change_type",
     "_change_ordinal", "_commit_snapshot_id", "_PARTITION", "file_path", "pos"],
)  # fmt: skip
def test_columns_that_iceberg_reserves_are_refused(name: str) -> None:
    assert f"the column name '{name}' is reserved by Iceberg" in refusal(columns={name: T.StringType()})


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"_kafka_offset": T.LongType()}, "'_kafka_offset' is a Kafka coordinate"),
        ({"a-b": T.LongType()}, "'a-b' cannot name a column"),
        ({"_id": T.LongType()}, "'_id' cannot name a column"),
        ({"Id": T.LongType(), "iD": T.LongType()}, "'Id' and 'iD' are the same for Spark"),
        ({"s": T.StructType([T.StructField("a", T.LongType()), T.StructField("A", T.LongType())])}, "'a' and 'A'"),
        ({"s": T.ArrayType(T.StructType([T.StructField("a.b", T.LongType())]))}, "'a.b' cannot name a column"),
        ({"s": T.ArrayType(T.StructType([]))}, "a struct without fields"),
        ({}, "no columns"),
        ({"a": pa.Column()}, "no type"),
        ({"a.*": pa.Column(T.LongType(), regex=True)}, "a pattern is no column"),
        ({"a": pa.Column(T.LongType(), metadata={"severity": "fatal"})}, "unknown severity 'fatal'"),
        ({"a": pa.Column(T.LongType(), metadata={"sensitive": "yes"})}, "sensitive should be True or False"),
        ({"a": pa.Column(T.LongType(), metadata={"sensitve": True})}, "unknown metadata sensitve"),
    ],
)
def test_a_column_that_cannot_be_is_refused(columns: dict[str, Any], says: str) -> None:
    assert says in refusal(columns=columns)


def test_a_field_that_pandera_would_silently_skip_is_refused() -> None:
    class Hidden(pa.DataFrameModel):
        id: int
        _id: int

    with pytest.raises(DeclarationError, match="'_id' cannot name a column"):
        Table(name="raw.things", schema=Hidden, description="x", owner="x")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"key": ("nr",)}, "key: there is no column 'nr'"),
        ({"key": ("code",)}, "key: 'code' may be null"),
        ({"key": ("tags",)}, "key: 'tags' is a array"),
        ({"key": ("id", "id")}, "named twice"),
        ({"key": "id"}, "a text in place of a tuple"),
        ({"partitioning": ("month(time)",)}, "partitioning: there is no column 'time'"),
        ({"partitioning": ("ID",)}, "partitioning: there is no column 'ID'"),
        ({"partitioning": ("month(code)",)}, "month(code) does not work on code, a string"),
        ({"partitioning": ("tags",)}, "does not work on tags"),
        ({"partitioning": ("bucket(id)",)}, "'bucket(id)' cannot be understood"),
        ({"partitioning": ("bucket(0, id)",)}, "cannot be understood"),
        ({"partitioning": ("month(3, ts)",)}, "cannot be understood"),
        ({"partitioning": ("bucket(2147483648, id)",)}, "the number of bucket for 'id' is too large"),
        ({"partitioning": (f"truncate({'9' * 5000}, code)",)}, "the number of truncate for 'code' is too large"),
        ({"partitioning": ("week(ts)",)}, "cannot be understood"),
        ({"partitioning": ("month ts",)}, "cannot be understood"),
        ({"partitioning": ("month(ts)", "day(ts)")}, "'ts' is divided twice"),
        ({"partitioning": ("id", "id")}, "'id' is divided twice"),
        ({"partitioning": ("secret",)}, "'secret' is sensitive"),
        ({"partitioning": ("truncate(2, secret)",)}, "'secret' is sensitive"),
        ({"columns": {"born": BORN}, "partitioning": ("day(born)",)}, "'born' is sensitive"),
        ({"columns": {"born": BORN}, "partitioning": ("year(born)",)}, "'born' is sensitive"),
        ({"columns": {**COLUMNS, "ts_day": T.StringType()}, "partitioning": ("day(ts)",)}, "ts_day has the name of a"),
        ({"partitioning": "month(ts)"}, "a text in place of a tuple"),
        ({"sort_order": ("id downwards",)}, "cannot be understood"),
        ({"sort_order": ("nr desc",)}, "sort order: there is no column 'nr'"),
        ({"runtime_date_column": "nr"}, "runtime_date_column: there is no column"),
        ({"runtime_date_column": "ts"}, "'ts' is no required date"),
        ({"write_mode": "upsert"}, "unknown write mode 'upsert'"),
        ({"properties": {"format-version": "3"}}, "the format version '3' cannot be declared"),
        ({"properties": {"owner": "x"}}, "owner is not for a declaration"),
        ({"properties": {"lakehouse.owner": "x"}}, "lakehouse.owner is not for a declaration"),
        ({"properties": {"write.metadata.metrics.column.secret": "full"}}, "not for a declaration"),
    ],
)
def test_a_table_that_cannot_work_is_refused(more: dict[str, Any], says: str) -> None:
    assert says in refusal(**more)
