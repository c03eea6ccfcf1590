"""A declared type means the same in Iceberg, Arrow and Spark, however deeply it is nested."""

from itertools import count

import pyspark.sql.types as T  # noqa: N812
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.declarations import DeclarationError, iceberg_schema
from lakehouse.declarations.columns.types import iceberg_type, spark_type
from lakehouse_tests.declarations.declaring import declare

NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,8}", fullmatch=True).filter(
    lambda name: name.casefold() not in ("file_path", "pos")
)
DOCS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20)
SIMPLE = st.sampled_from(
    [
        T.BooleanType(),
        T.IntegerType(),
        T.LongType(),
        T.FloatType(),
        T.DoubleType(),
        T.StringType(),
        T.BinaryType(),
        T.DateType(),
        T.TimestampType(),
        T.TimestampNTZType(),
    ]
) | st.integers(1, 38).flatmap(lambda p: st.integers(0, p).map(lambda s: T.DecimalType(p, s)))


def structs(inner: st.SearchStrategy[T.DataType]) -> st.SearchStrategy[T.DataType]:
    def field(name: str, kind: T.DataType, nullable: bool, doc: str) -> T.StructField:
        return T.StructField(name, kind, nullable, {"comment": doc} if doc else {})

    return st.lists(
        st.builds(field, NAMES, inner, st.booleans(), DOCS),
        min_size=1,
        max_size=3,
        unique_by=lambda f: f.name.casefold(),
    ).map(T.StructType)


TYPES = st.recursive(
    SIMPLE,
    lambda inner: (
        structs(inner)
        | st.builds(T.ArrayType, inner, st.booleans())
        | st.builds(T.MapType, SIMPLE, inner, st.booleans())
    ),
    max_leaves=6,
)


@given(TYPES)
def test_a_type_survives_the_way_to_iceberg_and_back(declared: T.DataType) -> None:
    ids = count(1)
    assert spark_type(iceberg_type(declared, lambda: next(ids), "t.c")) == declared


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (T.ByteType(), "raw.things.c: Iceberg has no tinyint"),
        (T.ShortType(), "raw.things.c: Iceberg has no smallint"),
        (T.MapType(T.StringType(), T.ShortType()), "raw.things.c.value: Iceberg has no smallint"),
        (
            T.ArrayType(T.StructType([T.StructField("f", T.NullType())])),
            "raw.things.c.element.f: void cannot be stored",
        ),
        (T.StructType([T.StructField("f", T.StringType("UTF8_LCASE"))]), "raw.things.c.f: string collate UTF8_LCASE"),
    ],
)
def test_a_type_that_iceberg_lacks_is_refused_by_its_path(kind: T.DataType, says: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        declare({"c": kind})
    assert says in str(caught.value)
    assert "Remedy" in str(caught.value)


def test_pandera_tells_a_timestamp_without_zone_from_one_with() -> None:
    table = declare({"here": T.TimestampNTZType(), "everywhere": T.TimestampType()})
    assert [str(field.field_type) for field in iceberg_schema(table).fields] == ["timestamp", "timestamptz"]
