"""Partitioning and sort order as they are declared, in short texts."""

from lakehouse.declarations import partition_spec, sort_order
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.declarations.test_table import COLUMNS


def test_partitioning_is_written_as_short_texts() -> None:
    table = declare(
        COLUMNS,
        partitioning=("month(ts)", "code", "bucket(16, id)", "truncate(4,code)", "year(day)", "bucket(4, secret)"),
    )
    assert [(f.name, str(f.transform)) for f in partition_spec(table).fields] == [
        ("ts_month", "month"),
        ("code", "identity"),
        ("id_bucket_16", "bucket[16]"),
        ("code_trunc_4", "truncate[4]"),
        ("day_year", "year"),
        ("secret_bucket_4", "bucket[4]"),
    ]


def test_sort_order_is_written_as_short_texts() -> None:
    table = declare(COLUMNS, sort_order=("id", "ts DESC", "code desc nulls first", "bucket(4, id) asc nulls last"))
    assert [str(field) for field in sort_order(table).fields] == [
        "1 ASC NULLS FIRST",
        "2 DESC NULLS LAST",
        "4 DESC NULLS FIRST",
        "bucket[4](1) ASC NULLS LAST",
    ]
