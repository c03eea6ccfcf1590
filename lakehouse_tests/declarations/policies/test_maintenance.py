"""A declared policy: what it refuses, and which properties a table has of it from its creation on."""

import re
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandera.pyspark as pa
import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import (
    Changelog,
    DeclarationError,
    Deduplicate,
    Expire,
    Maintenance,
    Manifests,
    Mirror,
    MirrorTables,
    Orphans,
    Release,
    Rewrite,
    Statistics,
    apply,
    plan,
    table_properties,
)
from lakehouse.declarations.policies.maintenance import Layout
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import Lake

MIB = 1024**2
DAY = timedelta(days=1)
PARTS = (Maintenance, Rewrite, Manifests, Expire, Orphans, Statistics, Deduplicate)
# What happens to be right for a field, of what is given to all of them.
FITTING: dict[Any, tuple[str, ...]] = {
    "64 MiB": ("excluded",),
    1.5: ("max_file_size_ratio", "after_rows"),
    None: (
        *("to_format", "every_commits", "lease_grace", "max_snapshots"),
        *("rewrite", "manifests", "expire", "orphans", "statistics", "deduplicate"),
    ),
}
COLUMNS = {"id": pa.Column(T.LongType()), "day": T.DateType(), "note": T.StringType()}


def test_a_new_table_has_the_policy_as_icebergs_own_properties(sql_lake: Lake) -> None:
    policy = Maintenance(
        rewrite=Rewrite(target_file_size=64 * MIB),
        manifests=Manifests(min_count=12, target_size=MIB),
        expire=Expire(max_snapshot_age=2 * DAY, min_snapshots_to_keep=7, max_snapshots=30),
    )
    declared = declare(COLUMNS, maintenance=policy)
    made = apply(plan(declared, sql_lake.catalog), sql_lake.catalog)
    expected = {
        "write.target-file-size-bytes": "67108864",
        "commit.manifest.min-count-to-merge": "12",
        "commit.manifest.target-size-bytes": "1048576",
        "history.expire.max-snapshot-age-ms": "172800000",
        "history.expire.min-snapshots-to-keep": "7",
        "lakehouse.publish.keep-snapshots": "60",
        "write.distribution-mode": "none",
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "50",
        "commit.retry.num-retries": "20",
    }
    assert made.properties.items() >= expected.items()
    assert not plan(declared, sql_lake.catalog)
    later = replace(declared, maintenance=replace(policy, rewrite=Rewrite(target_file_size=32 * MIB)))
    changed = plan(later, sql_lake.catalog)
    assert [str(change) for change in changed.changes if "target-file-size" in str(change)]
    assert apply(changed, sql_lake.catalog).properties["write.target-file-size-bytes"] == "33554432"


def test_no_count_is_set_that_nobody_has_declared() -> None:
    properties = table_properties(declare(COLUMNS))
    assert properties["history.expire.max-snapshot-age-ms"] == "432000000"
    assert "lakehouse.publish.keep-snapshots" not in properties


def test_a_part_that_is_none_sets_nothing() -> None:
    never = declare(COLUMNS, maintenance=Maintenance(rewrite=None, manifests=None, expire=None))
    assert (
        not {
            "write.target-file-size-bytes",
            "commit.manifest.target-size-bytes",
            "history.expire.max-snapshot-age-ms",
            "lakehouse.publish.keep-snapshots",
        }
        & table_properties(never).keys()
    )


@pytest.mark.parametrize(
    "key", ["write.target-file-size-bytes", "history.expire.max-snapshot-age-ms", "write.distribution-mode"]
)
def test_a_property_beside_a_policy_that_sets_it_is_refused(key: str) -> None:
    with pytest.raises(DeclarationError, match=f"{key} is set by its maintenance as well"):
        declare(COLUMNS, properties={key: "1"})
    if key.startswith("history"):
        declare(COLUMNS, properties={key: "1"}, maintenance=Maintenance(expire=None))


@pytest.mark.parametrize(
    ("layout", "partitioning", "sort_order", "expected"),
    [
        ("auto", (), (), "none"),
        ("auto", ("month(day)",), (), "hash"),
        ("auto", (), ("id",), "range"),
        ("auto", ("bucket(16, id)",), ("day",), "hash"),
        ("range", (), (), "range"),
    ],
)
def test_how_rows_are_distributed_is_chosen_from_the_declaration(
    layout: Layout, partitioning: tuple[str, ...], sort_order: tuple[str, ...], expected: str
) -> None:
    table = declare(COLUMNS, partitioning=partitioning, sort_order=sort_order, maintenance=Maintenance(layout=layout))
    assert table_properties(table)["write.distribution-mode"] == expected


def test_a_streams_table_is_never_distributed_by_range() -> None:
    table = declare(COLUMNS, sort_order=("id",)).with_coordinates()
    assert table_properties(table)["write.distribution-mode"] == "hash"


@pytest.mark.parametrize(
    ("part", "given"),
    [
        (Manifests, {"min_count": 1}),
        (Manifests, {"target_size": 0}),
        (Expire, {"max_snapshot_age": timedelta(0)}),
        (Expire, {"min_snapshots_to_keep": 1}),
        (Expire, {"max_snapshots": 10}),
        (Expire, {"at_least": 0}),
        (Expire, {"lease_for": timedelta(0)}),
        (Expire, {"lease_grace": -DAY}),
        (Orphans, {"older_than": timedelta(hours=23)}),
        (Orphans, {"every": timedelta(0)}),
        (Statistics, {"columns": "id"}),
        (Statistics, {"after_rows": 0.0}),
        (Deduplicate, {"order_by": ()}),
        (Deduplicate, {"order_by": ("id; drop table x",)}),
        (Deduplicate, {"order_by": ("id",), "closed_after": -DAY}),
        (Maintenance, {"layout": "best"}),
    ],
)
def test_what_cannot_work_is_refused_where_it_is_declared(part: Any, given: dict[str, Any]) -> None:
    with pytest.raises(DeclarationError, match=rf"{part.__name__}\.{next(reversed(list(given)))}"):
        part(**given)


@pytest.mark.parametrize(
    "given", [NotImplemented, "64 MiB", 1.5, -1, None, [1], ("a", 1), timedelta(-1), float("nan")], ids=repr
)
@pytest.mark.parametrize(("part", "name"), [(part, field.name) for part in PARTS for field in fields(part)])
def test_a_value_of_a_wrong_type_is_an_error_that_names_the_field_or_is_of_the_right_one(
    part: Any, name: str, given: Any
) -> None:
    values: Any = {name: given}
    if part is Deduplicate:
        values = {"order_by": ("id",), **values}
    if name in FITTING.get(given if isinstance(given, str | float | None) else "", ()):
        hash(part(**values))
    else:
        message = re.escape(f"{part.__name__}.{name} is {given!r}, which cannot work: it may be ")
        with pytest.raises(DeclarationError, match=message):
            part(**values)


@pytest.mark.parametrize(
    ("part", "given", "message"),
    [
        (Rewrite, {"target_file_size": "64 MiB"}, "a whole number of bytes (64 MiB are 64 * 1024**2) of at least 1024"),
        (Rewrite, {"quiet_for": 15}, "a timedelta, such as timedelta(days=3), that is not negative"),
        (Rewrite, {"strategy": "zorder"}, "a tuple of names of columns, not empty, for the strategy 'zorder'"),
        (Rewrite, {"max_group_bytes": MIB}, "of at least 134217728 (target_file_size)"),
        (Expire, {"max_snapshots": 10}, "a whole number of at least 20 (min_snapshots_to_keep)"),
        (Expire, {"at_least": True}, "a whole number of at least 1."),
        (Orphans, {"older_than": timedelta(hours=12)}, "of at least 1 day"),
        (Deduplicate, {"order_by": "id"}, "a tuple of columns with directions, such as ('_kafka_offset desc',)"),
        (Maintenance, {"rewrite": Rewrite}, "Rewrite(…), or None"),
        (Maintenance, {"layout": "best"}, "one of 'auto', 'none', 'hash', 'range'"),
    ],
)
def test_an_error_says_what_a_field_may_be(part: Any, given: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError, match=re.escape(message)):
        part(**given)


def test_columns_of_a_policy_are_columns_of_the_table() -> None:
    with pytest.raises(DeclarationError, match="there is no column 'nothing'"):
        declare(COLUMNS, maintenance=Maintenance(rewrite=Rewrite(strategy="zorder", zorder_by=("nothing",))))
    with pytest.raises(DeclarationError, match="by the key of a table"):
        declare(COLUMNS, maintenance=Maintenance(deduplicate=Deduplicate(order_by=("day desc",))))
    policy = Maintenance(deduplicate=Deduplicate(order_by=("_kafka_offset desc nulls last",)))
    table = declare(COLUMNS, key=("id",), maintenance=policy)
    assert table.with_coordinates().without_coordinates().maintenance == policy


def test_a_policy_is_for_all_tables_that_a_declaration_brings() -> None:
    class Row(pa.DataFrameModel):  # pyright: ignore[reportMissingTypeArgument]
        id: T.LongType = pa.Field()

    policy = Maintenance(statistics=Statistics(columns=("id",)), expire=Expire(max_snapshots=25))
    log = Changelog(name="raw.log", topic="t", row=Row, key=("id",), description="x", owner="x")
    tables = MirrorTables(Mirror(name="mirror.things", changelog=log, maintenance=policy), log)
    assert tables.mirror_table.maintenance == policy
    assert {table.maintenance.expire for table in tables.tables} == {policy.expire}
    assert [table.maintenance.statistics for table in tables.tables[1:]] == [None, None]
    kept = Maintenance(expire=Expire(max_snapshots=25))
    assert replace(log, maintenance=kept).table.maintenance == kept
    assert Release(name="r", members=("a.b",), description="x", owner="x", maintenance=kept).table.maintenance == kept


@pytest.mark.parametrize("part", PARTS)
def test_every_field_is_explained_where_it_is_declared(part: Any) -> None:
    text = part.__doc__.partition("Attributes:")[2]
    assert [field.name for field in fields(part) if f" {field.name}: " not in text] == []


@pytest.mark.parametrize("part", PARTS)
def test_every_field_is_on_the_page_about_maintenance(part: Any) -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "maintenance.md").read_text()
    missing = [field.name for field in fields(part) if f"`{field.name}" not in page]
    assert not missing, "add its row to docs/reference/maintenance.md"
