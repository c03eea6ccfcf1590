"""A declared type means the same in Iceberg, Arrow and Spark, however deeply it is nested."""

from itertools import count

import pandera.pyspark as pa
import pyarrow
import pyspark.sql.types as T  # noqa: N812
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.io.pyarrow import _pyarrow_to_schema_without_ids
from pyiceberg.schema import assign_fresh_schema_ids

from lakehouse.declarations import DeclarationError, arrow_schema, iceberg_schema, spark_schema
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


@given(TYPES)
def test_a_type_survives_the_way_to_iceberg_and_back(declared: T.DataType) -> None:
    ids = count(1)
    assert spark_type(iceberg_type(declared, lambda: next(ids), "t.c")) == declared


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
