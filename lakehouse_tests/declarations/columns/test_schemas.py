"""Declared columns as schemas of Iceberg, Arrow and Spark."""

import pandera.pyspark as pa
import pyarrow
import pyspark.sql.types as T  # noqa: N812
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.io.pyarrow import _pyarrow_to_schema_without_ids
from pyiceberg.schema import assign_fresh_schema_ids

from lakehouse.declarations import arrow_schema, iceberg_schema, spark_schema
from lakehouse_tests.declarations.columns.test_types import DOCS, NAMES, TYPES
from lakehouse_tests.declarations.declaring import declare

COLUMNS = st.dictionaries(NAMES, st.tuples(TYPES, st.booleans(), DOCS), min_size=1, max_size=5).filter(
    lambda columns: len({name.casefold() for name in columns}) == len(columns)
)


@settings(max_examples=150, deadline=None)
@given(COLUMNS)
def test_what_is_declared_is_what_spark_and_arrow_see(columns: dict[str, tuple[T.DataType, bool, str]]) -> None:
    table = declare({n: pa.Column(kind, nullable=null, description=doc) for n, (kind, null, doc) in columns.items()})
    expected = T.StructType(
        [T.StructField(n, kind, null, {"comment": doc} if doc else {}) for n, (kind, null, doc) in columns.items()]
    )
    assert spark_schema(table) == expected  # names, types, nullability and comments, at every depth

    iceberg = iceberg_schema(table)
    assert [(f.name, f.optional, f.doc or "") for f in iceberg.fields] == [
        (n, null, doc) for n, (_, null, doc) in columns.items()
    ]
    # Arrow says the same: read back by PyIceberg, nothing is lost but the ids.
    arrow = arrow_schema(table)
    back = assign_fresh_schema_ids(_pyarrow_to_schema_without_ids(arrow))
    assert back.as_struct() == iceberg.as_struct()


def test_ids_are_those_of_a_new_table() -> None:
    inner = T.StructType([T.StructField("x", T.ArrayType(T.StringType())), T.StructField("y", T.LongType())])
    table = declare({"a": inner, "b": T.MapType(T.StringType(), inner), "c": T.LongType()})
    schema = iceberg_schema(table)
    assert [field.field_id for field in schema.fields] == [1, 2, 3]
    assert schema == iceberg_schema(table)
    assert sorted(schema.field_ids) == list(range(1, len(schema.field_ids) + 1))


def test_arrow_has_microseconds_and_large_types() -> None:
    schema = arrow_schema(
        declare({"s": T.StringType(), "b": T.BinaryType(), "t": T.TimestampType(), "n": T.TimestampNTZType()})
    )
    assert schema.types == [
        pyarrow.large_string(),
        pyarrow.large_binary(),
        pyarrow.timestamp("us", tz="UTC"),
        pyarrow.timestamp("us"),
    ]
