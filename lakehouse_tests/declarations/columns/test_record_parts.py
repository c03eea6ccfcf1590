"""A column that holds a part of the record says which, with a type that has room for it."""

from typing import Any

import pandera.pyspark as pa
import pytest
from pyspark.sql import types as spark

from lakehouse import DeclarationError
from lakehouse.declarations.columns.column import columns_of

HEADERS = spark.ArrayType(
    spark.StructType([spark.StructField("key", spark.StringType()), spark.StructField("value", spark.BinaryType())])
)


def schema(kind: Any, **metadata: str) -> pa.DataFrameSchema:
    return pa.DataFrameSchema({"x": pa.Column(kind, nullable=True, metadata=metadata)})


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        (spark.StringType(), "key"),
        (spark.BinaryType(), "value"),
        (spark.StringType(), "header:trace id"),
        (HEADERS, "headers"),
    ],
)
def test_a_column_names_its_part(kind: Any, part: str) -> None:
    assert columns_of("t.t", schema(kind, record=part))[0].record == part


@pytest.mark.parametrize(
    ("kind", "metadata", "complaint"),
    [
        (spark.StringType(), {"record": "keys"}, "a record has no part 'keys'"),
        (spark.StringType(), {"record": "header:"}, "a record has no part 'header:'"),
        (spark.LongType(), {"record": "key"}, "the key of a record is bytes, and no bigint"),
        (spark.StringType(), {"record": "headers"}, "headers do not fit string"),
        (spark.StringType(), {"record": "key", "alias": "k"}, "the record's key, which has no other name"),
    ],
)
def test_another_is_refused(kind: Any, metadata: dict[str, str], complaint: str) -> None:
    with pytest.raises(DeclarationError, match=complaint):
        columns_of("t.t", schema(kind, **metadata))
