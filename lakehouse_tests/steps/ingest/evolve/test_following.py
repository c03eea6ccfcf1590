"""What a table becomes, by its policy; what it never becomes."""

from typing import Any

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812

from lakehouse.declarations import Evolution
from lakehouse.formats.evolution.json_fields import SourceField
from lakehouse.steps.ingest.evolve.following import Following
from lakehouse_tests.declarations.declaring import declare

COLUMNS = {
    "id": pandera.Column(T.LongType(), nullable=False),
    "count": pandera.Column(T.IntegerType(), nullable=False),
}
ALL = [SourceField("id", T.LongType(), nullable=False), SourceField("count", T.IntegerType(), nullable=False)]


def followed(*fields: SourceField, refused: bool = False, adds: bool = True, **policy: Any) -> Following:
    following = Following(declare(dict(COLUMNS), key=("id",), evolution=Evolution(**policy)).with_coordinates())
    following.follow(fields, refused=refused, adds=adds)
    return following


def columns(following: Following) -> dict[str, tuple[str, bool, str]]:
    return {c.name: (c.type.simpleString(), c.required, c.source_name) for c in following.wanted.own_columns}


def test_a_table_that_fits_stays() -> None:
    assert followed(*ALL).columns == list(followed().table.own_columns)


def test_names_are_columns_names_and_no_twins() -> None:
    names = ["unit price", "Count", "_kafka_offset", "file_path"]
    following = followed(*ALL, *(SourceField(name, T.StringType(), nullable=True) for name in names))
    assert [(c.name, c.source_name) for c in following.columns[2:]] == [
        ("unit_price", "unit price"),
        ("Count_2", "Count"),
        ("kafka_offset", "_kafka_offset"),
        ("file_path_value", "file_path"),
    ]
    assert following.remarks == ["Count_2: for `Count`, as another field has this name but for its case"]


def test_a_table_does_not_grow_without_end() -> None:
    following = followed(*ALL, SourceField("x", T.LongType(), nullable=True), most_columns=2)
    assert len(following.columns) == 2
    assert following.remarks == ["x: not added, as the table has 2 columns"]


def test_a_key_is_never_optional_nor_of_another_type() -> None:
    text = SourceField("id", T.StringType(), nullable=True)
    following = followed(text, refused=True, make_optional=True, otherwise="second_column")
    assert columns(following) == {"id": ("bigint", True, "id"), "count": ("int", False, "count")}
    assert following.conflicts == {"id": "bigint, and records have string"}


def test_a_second_column_is_widened_before_there_is_a_third() -> None:
    following = followed(SourceField("count", T.FloatType(), nullable=False), refused=True, otherwise="second_column")
    for kind in (T.DoubleType(), T.StringType(), T.StringType()):
        following.follow([ALL[0], SourceField("count", kind, nullable=False)], refused=True, adds=False)
    assert columns(following) == {
        "id": ("bigint", True, "id"),
        "count": ("int", False, "count"),
        "count_float": ("double", False, "count"),
        "count_string": ("string", False, "count"),
    }
    assert not {path for path in following.conflicts if path != "id"}


def test_a_type_matters_only_where_records_were_refused() -> None:
    text = SourceField("count", T.StringType(), nullable=False)
    assert not followed(text, otherwise="second_column").columns[2:]
