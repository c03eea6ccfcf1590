"""What `lakehouse plan` shows is what `lakehouse apply` does, on both catalogs; nothing that a table holds is lost."""

from typing import Any

import pandera.pyspark as pa
import pyarrow
import pyspark.sql.types as T  # noqa: N812
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType, UUIDType

from lakehouse.declarations import (
    Expire,
    Maintenance,
    Table,
    WouldLoseData,
    apply,
    arrow_schema,
    iceberg_schema,
    plan,
    table_properties,
)
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import Lake

ITEM = T.StructType([T.StructField("sku", T.StringType(), nullable=False), T.StructField("count", T.IntegerType())])
WIDE_ITEM = T.StructType(
    [
        T.StructField("sku", T.StringType(), nullable=True, metadata={"comment": "Stock keeping unit"}),
        T.StructField("price", T.DecimalType(10, 2)),
        T.StructField("count", T.LongType()),
    ]
)


def nested(item: T.StructType) -> dict[str, Any]:
    return {
        "id": pa.Column(T.LongType()),
        "first": item,
        "items": T.ArrayType(item, containsNull=False),
        "by_name": T.MapType(T.StringType(), item, valueContainsNull=False),
    }


def table(lake: Lake, columns: dict[str, Any], **more: Any) -> Table:
    return declare(columns, name=f"{lake.namespace}.things", **more)


def made(lake: Lake, columns: dict[str, Any], **more: Any) -> Table:
    declared = table(lake, columns, **more)
    apply(plan(declared, lake.catalog), lake.catalog)
    return declared


def steps(lake: Lake, declared: Table) -> list[str]:
    return [str(change) for change in plan(declared, lake.catalog).changes]


def problems(lake: Lake, columns: dict[str, Any], **more: Any) -> list[str]:
    with pytest.raises(WouldLoseData) as caught:
        plan(table(lake, columns, **more), lake.catalog)
    assert caught.value.table == f"{lake.namespace}.things"
    assert caught.value.table in str(caught.value)
    assert all(problem.remedy.rstrip(".") in str(caught.value) for problem in caught.value.problems)
    return [problem.message for problem in caught.value.problems]


def test_a_table_is_created_as_declared_and_then_nothing_is_left_to_do(lake: Lake) -> None:
    declared = table(
        lake,
        {**nested(ITEM), "ts": pa.Column(T.TimestampType(), description="When")},
        coordinates=True,
        key=("id",),
        partitioning=("month(ts)", "bucket(4, id)"),
        sort_order=("ts desc", "id"),
    )
    assert steps(lake, declared) == ["create with 9 columns"]
    created = apply(plan(declared, lake.catalog), lake.catalog)
    assert created.schema().as_struct() == iceberg_schema(declared).as_struct()
    assert [field.name for field in created.spec().fields] == ["ts_month", "id_bucket_4"]
    assert [str(field) for field in created.sort_order().fields] == ["5 DESC NULLS LAST", "1 ASC NULLS FIRST"]
    assert created.format_version == 2
    assert table_properties(declared).items() <= created.properties.items()
    assert not plan(declared, lake.catalog)
    assert apply(plan(declared, lake.catalog), lake.catalog).metadata_location == created.metadata_location


def test_the_key_becomes_the_identifier_fields_also_of_a_table_that_exists(lake: Lake) -> None:
    columns = {"id": pa.Column(T.LongType()), "code": pa.Column(T.StringType()), "note": T.StringType()}
    made(lake, columns)
    keyed = table(lake, columns, key=("id", "code"))
    assert "identify rows by id, code (was nothing)" in steps(lake, keyed)
    applied = apply(plan(keyed, lake.catalog), lake.catalog)
    assert applied.schema().identifier_field_names() == {"id", "code"}
    assert not plan(keyed, lake.catalog)
    nullable = table(lake, {**columns, "code": T.StringType()}, key=("id",))
    assert "identify rows by id (was code, id)" in steps(lake, nullable)
    assert apply(plan(nullable, lake.catalog), lake.catalog).schema().identifier_field_names() == {"id"}


def test_identifier_fields_that_somebody_has_set_stay_unless_they_may_be_null(sql_lake: Lake) -> None:
    columns = {"id": pa.Column(T.LongType()), "code": pa.Column(T.StringType())}
    declared = made(sql_lake, columns)
    with sql_lake.load(declared.name).update_schema() as schema:
        schema.set_identifier_fields("id", "code")
    assert steps(sql_lake, declared) == []
    relaxed = table(sql_lake, {**columns, "code": T.StringType()})
    changed = apply(plan(relaxed, sql_lake.catalog), sql_lake.catalog)
    assert changed.schema().identifier_field_names() == {"id"}


def test_a_key_with_a_float_identifies_nothing_for_iceberg(sql_lake: Lake) -> None:
    declared = made(sql_lake, {"id": pa.Column(T.LongType()), "x": pa.Column(T.DoubleType())}, key=("id", "x"))
    assert not sql_lake.load(declared.name).schema().identifier_field_ids
    assert steps(sql_lake, declared) == []


def test_a_count_of_an_earlier_declaration_is_taken_back(sql_lake: Lake) -> None:
    """Guarded mechanism: else each publish would go on to cut below the declared age."""
    kept = "lakehouse.publish.keep-snapshots"
    declared = made(sql_lake, {"a": T.LongType()}, maintenance=Maintenance(expire=Expire(max_snapshots=30)))
    assert sql_lake.load(declared.name).properties[kept] == "60"
    by_age = table(sql_lake, {"a": T.LongType()})
    assert steps(sql_lake, by_age) == [f"unset {kept} (was '60')"]
    assert kept not in apply(plan(by_age, sql_lake.catalog), sql_lake.catalog).properties


def test_a_missing_namespace_is_created(lake: Lake) -> None:
    declared = declare({"n": T.LongType()}, name=f"{lake.namespace}_new.things")
    assert apply(plan(declared, lake.catalog), lake.catalog).name() == declared.identifier


def test_columns_are_added_widened_relaxed_and_described_in_one_commit(lake: Lake) -> None:
    before = made(
        lake, {"a": pa.Column(T.IntegerType()), "f": T.FloatType(), "d": T.DecimalType(5, 2), "z": T.DateType()}
    )
    stored = lake.load(before.name)
    stored.append(pyarrow.table({"a": [1], "f": [0.5], "d": [None], "z": [None]}, schema=arrow_schema(before)))
    after = table(
        lake,
        {
            "new_first": T.StringType(),
            "a": pa.Column(T.LongType(), nullable=True, description="Number"),
            "f": T.DoubleType(),
            "new_middle": T.ArrayType(ITEM),
            "new_next": T.BooleanType(),
            "d": T.DecimalType(12, 2),
            "z": T.DateType(),
        },
    )
    assert sorted(steps(lake, after)) == [
        "add column new_first string",
        "add column new_middle list<struct<sku: required string, count: optional int>>",
        "add column new_next boolean",
        "allow nulls in column a",
        "describe column a: Number",
        "widen column a from int to long",
        "widen column d from decimal(5, 2) to decimal(12, 2)",
        "widen column f from float to double",
    ]
    changed = apply(plan(after, lake.catalog), lake.catalog)
    assert changed.metadata.current_schema_id == stored.metadata.current_schema_id + 1
    assert [field.name for field in changed.schema().fields] == [column.name for column in after.columns]
    assert changed.schema().find_field("a").doc == "Number"
    assert changed.scan().to_arrow().to_pylist() == [
        {"new_first": None, "a": 1, "f": 0.5, "new_middle": None, "new_next": None, "d": None, "z": None}
    ]
    assert not plan(after, lake.catalog)


def test_nested_fields_evolve_in_structs_lists_and_maps(lake: Lake) -> None:
    before = made(lake, nested(ITEM))
    row = {"sku": "x", "count": 1}
    lake.load(before.name).append(
        pyarrow.Table.from_pylist(
            [{"id": 1, "first": row, "items": [row], "by_name": [("n", row)]}], schema=arrow_schema(before)
        )
    )
    after = table(lake, nested(WIDE_ITEM))
    assert sorted(steps(lake, after)) == sorted(
        step.replace("@", path)
        for path in ("first", "items.element", "by_name.value")
        for step in (
            "allow nulls in column @.sku",
            "describe column @.sku: Stock keeping unit",
            "add column @.price decimal(10, 2)",
            "widen column @.count from int to long",
        )
    )
    changed = apply(plan(after, lake.catalog), lake.catalog)
    assert not plan(after, lake.catalog)
    assert [f.name for f in changed.schema().find_type("items.element").fields] == ["sku", "price", "count"]
    wide = {"sku": "x", "price": None, "count": 1}
    assert changed.scan().to_arrow().to_pylist() == [
        {"id": 1, "first": wide, "items": [wide], "by_name": [("n", wide)]}
    ]


def test_elements_and_values_may_become_wider_and_optional(lake: Lake) -> None:
    made(
        lake,
        {"l": T.ArrayType(T.IntegerType(), containsNull=False), "m": T.MapType(T.StringType(), T.FloatType(), False)},
    )
    after = table(lake, {"l": T.ArrayType(T.LongType()), "m": T.MapType(T.StringType(), T.DoubleType())})
    assert len(steps(lake, after)) == 4
    apply(plan(after, lake.catalog), lake.catalog)
    assert not plan(after, lake.catalog)


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ({"a": T.LongType(), "b": T.LongType()}, {"a": T.LongType()}, "column b is in the table and not in"),
        ({"a": T.LongType()}, {"b": T.LongType()}, "column a is in the table and not in"),
        ({"a": T.LongType()}, {"A": T.LongType()}, "column A is called a in the table"),
        ({"a": T.LongType()}, {"a": T.IntegerType()}, "column a is long in the table and int"),
        ({"a": T.LongType()}, {"a": T.StringType()}, "column a is long in the table and string"),
        ({"a": T.DateType()}, {"a": T.TimestampType()}, "column a is date in the table"),
        ({"a": T.TimestampType()}, {"a": T.TimestampNTZType()}, "column a is timestamptz in the table"),
        ({"a": T.DecimalType(9, 2)}, {"a": T.DecimalType(8, 2)}, "column a is decimal(9, 2)"),
        ({"a": T.DecimalType(9, 2)}, {"a": T.DecimalType(12, 3)}, "column a is decimal(9, 2)"),
        ({"a": T.LongType()}, {"a": T.ArrayType(T.LongType())}, "column a is long in the table and list"),
        ({"a": T.LongType()}, {"a": T.LongType(), "b": pa.Column(T.LongType())}, "column b is new and required"),
        ({"a": T.LongType()}, {"a": pa.Column(T.LongType())}, "column a may be null in the table"),
        ({"a": ITEM}, {"a": T.StructType(ITEM.fields[:1])}, "column a.count is in the table"),
        ({"a": T.ArrayType(ITEM)}, {"a": T.ArrayType(T.StructType(ITEM.fields[:1]))}, "column a.element.count is"),
        ({"a": T.ArrayType(T.LongType())}, {"a": T.ArrayType(T.LongType(), False)}, "column a.element may be null"),
        (
            {"a": T.MapType(T.IntegerType(), T.LongType())},
            {"a": T.MapType(T.LongType(), T.LongType())},
            "the key of map a differs",
        ),
    ],
)
def test_what_would_lose_data_is_refused(sql_lake: Lake, before: Any, after: Any, says: str) -> None:
    made(sql_lake, before)
    location = sql_lake.load(f"{sql_lake.namespace}.things").metadata_location
    assert any(says in problem for problem in problems(sql_lake, after))
    assert sql_lake.load(f"{sql_lake.namespace}.things").metadata_location == location


def test_all_problems_are_told_at_once(sql_lake: Lake) -> None:
    made(sql_lake, {"a": T.LongType(), "b": T.LongType()})
    assert len(problems(sql_lake, {"a": T.IntegerType(), "c": pa.Column(T.LongType())})) == 3


def test_a_type_that_cannot_be_declared_is_told(sql_lake: Lake) -> None:
    sql_lake.create("things", Schema(NestedField(1, "a", UUIDType(), required=False)))
    assert "column a is uuid in the table" in problems(sql_lake, {"a": T.StringType()})[0]


def test_a_table_that_a_stream_adopts_lacks_its_coordinates(sql_lake: Lake) -> None:
    made(sql_lake, {"a": T.LongType()})
    messages = problems(sql_lake, {"a": T.LongType()}, coordinates=True)
    assert [message.split()[1] for message in messages] == [
        "_kafka_topic", "_kafka_partition", "_kafka_offset", "_kafka_timestamp"
    ]  # fmt: skip


def test_layout_changes_for_new_files_only(lake: Lake) -> None:
    columns = {"id": pa.Column(T.LongType()), "ts": pa.Column(T.TimestampType())}
    made(lake, columns, partitioning=("month(ts)", "bucket(4, id)"), sort_order=("id",))
    after = table(lake, columns, partitioning=("bucket(8, id)", "day(ts)"), sort_order=("ts desc", "bucket(4, id)"))
    assert steps(lake, after) == [
        "partition new files without ts_month, without id_bucket_4, with id_bucket_8, with ts_day",
        "sort new files by ts desc nulls last, id_bucket_4 asc nulls first",
    ]
    changed = apply(plan(after, lake.catalog), lake.catalog)
    assert [field.name for field in changed.spec().fields] == ["id_bucket_8", "ts_day"]
    assert not plan(after, lake.catalog)
    back = table(lake, columns)
    apply(plan(back, lake.catalog), lake.catalog)
    assert not plan(back, lake.catalog)
    assert lake.load(back.name).spec().is_unpartitioned()


def test_a_new_column_may_be_partitioned_by_at_once(lake: Lake) -> None:
    made(lake, {"a": T.LongType()})
    after = table(lake, {"a": T.LongType(), "day": T.DateType()}, partitioning=("month(day)",), sort_order=("day",))
    changed = apply(plan(after, lake.catalog), lake.catalog)
    assert [field.name for field in changed.spec().fields] == ["day_month"]


def test_our_properties_are_kept_and_others_left_alone(lake: Lake) -> None:
    declared = made(lake, {"a": T.LongType()})
    with lake.load(declared.name).transaction() as transaction:
        transaction.set_properties({"write.wap.enabled": "true", "somebody.else": "1"})
    assert steps(lake, declared) == ["set write.wap.enabled to 'false' (was 'true')"]
    changed = apply(plan(declared, lake.catalog), lake.catalog)
    assert changed.properties["write.wap.enabled"] == "false"
    assert changed.properties["somebody.else"] == "1"


def test_a_table_of_format_1_is_upgraded(lake: Lake) -> None:
    lake.create("things", Schema(NestedField(1, "a", LongType(), required=False)), **{"format-version": "1"})
    declared = table(lake, {"a": T.LongType()})
    assert "upgrade to Iceberg format 2" in steps(lake, declared)
    assert apply(plan(declared, lake.catalog), lake.catalog).format_version == 2


def test_appliers_that_planned_the_same_at_once_both_succeed(lake: Lake) -> None:
    declared = table(lake, {"a": T.LongType()})
    plans = [plan(declared, lake.catalog) for _ in range(2)]
    assert len({apply(planned, lake.catalog).metadata.table_uuid for planned in plans}) == 1
    wider = table(lake, {"a": T.LongType(), "b": T.StringType()}, partitioning=("b",))
    plans = [plan(wider, lake.catalog) for _ in range(2)]
    for planned in plans:
        assert [field.name for field in apply(planned, lake.catalog).schema().fields] == ["a", "b"]
    assert not plan(wider, lake.catalog)


def test_an_applier_stops_when_the_table_became_something_else(lake: Lake) -> None:
    declared = table(lake, {"a": T.LongType()})
    planned = plan(declared, lake.catalog)
    lake.create("things", Schema(NestedField(1, "a", StringType(), required=False)))
    with pytest.raises(WouldLoseData, match="column a is string in the table and long"):
        apply(planned, lake.catalog)


def test_a_table_dropped_after_planning_is_created(lake: Lake) -> None:
    made(lake, {"a": T.LongType()})
    wider = table(lake, {"a": T.LongType(), "b": T.LongType()})
    planned = plan(wider, lake.catalog)
    lake.catalog.drop_table(wider.identifier)
    assert len(apply(planned, lake.catalog).schema().fields) == 2
