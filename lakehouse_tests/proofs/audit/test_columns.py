"""A column that was dropped or renamed by hand is named, whichever table it was; what is declared anew is not.

Guarded mechanism: a table's own older schemas.
"""

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType, StructType

from lakehouse import seal_keys
from lakehouse.declarations import Table
from lakehouse.iceberg.names import identifier_of
from lakehouse.proofs.audit.columns import audit_columns
from lakehouse.protocol.commit import publish, seal_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.seal import Seal
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import Lake

INNER = T.StructType([T.StructField("x", T.LongType()), T.StructField("y", T.StringType())])
STORED = Schema(
    NestedField(1, "n", LongType(), required=False),
    NestedField(2, "s", StringType(), required=False),
    NestedField(
        3,
        "deep",
        StructType(NestedField(4, "x", LongType(), required=False), NestedField(5, "y", StringType(), required=False)),
        required=False,
    ),
)


def declared(name: str, *names: str) -> Table:
    types = {"n": T.LongType(), "s": T.StringType(), "deep": INNER, "new": T.LongType()}
    return declare({n: pandera.Column(types[n], nullable=True) for n in names or ("n", "s", "deep")}, name=name)


@pytest.fixture
def name(sql_lake: Lake) -> str:
    return sql_lake.create("a", STORED)


def missing(lake: Lake, name: str, *names: str) -> list[str]:
    return [finding.message for finding in audit_columns(lake.load(name), declared(name, *names)).findings]


def test_all_are_there(sql_lake: Lake, name: str) -> None:
    assert missing(sql_lake, name) == []


@pytest.mark.parametrize("column", ["n", "deep", "deep.y"])
def test_a_column_that_was_dropped(sql_lake: Lake, name: str, column: str) -> None:
    with sql_lake.load(name).update_schema() as update:
        update.delete_column(tuple(column.split(".")))
    (message,) = missing(sql_lake, name)
    assert message.startswith(f"{name} lacks {column}: ")


def test_a_column_that_was_renamed(sql_lake: Lake, name: str) -> None:
    with sql_lake.load(name).update_schema() as update:
        update.rename_column("s", "text")
    (message,) = missing(sql_lake, name)
    assert message.startswith(f"{name} lacks s: ")


def test_what_is_declared_no_more_may_go_and_what_is_new_may_lack(sql_lake: Lake, name: str) -> None:
    table = sql_lake.catalog.load_table(identifier_of(name))
    with table.update_schema() as update:
        update.delete_column("s")
    assert missing(sql_lake, name, "n", "deep", "new") == []


def swap(lake: Lake, name: str, first: str, second: str) -> None:
    for before, after in ((first, "aside"), (second, first), ("aside", second)):
        with lake.load(name).update_schema() as update:
            update.rename_column(before, after)


def readd(lake: Lake, name: str, column: str) -> None:
    with lake.load(name).update_schema() as update:
        update.delete_column(column)
    with lake.load(name).update_schema() as update:
        update.add_column(column, StringType())


def write(lake: Lake, name: str, mode: str = "append") -> None:
    base, attempt = lake.bases(name)[name], Attempt("run", "write:a")
    previous = base.sealed.seal if base.sealed else None
    seal = Seal.of(attempt, "write", statement={seal_keys.WRITE_MODE: mode}, previous=previous)
    publish(lake.catalog, [seal_branch(lake.catalog, base, attempt, seal)])


def test_a_column_that_was_dropped_and_added_anew(sql_lake: Lake, name: str) -> None:
    write(sql_lake, name)
    readd(sql_lake, name, "s")
    (message,) = missing(sql_lake, name)
    assert message.startswith(f"{name}: s no longer means the field that rows were written to")


def test_two_columns_that_were_swapped_also_below_newer_writes(sql_lake: Lake, name: str) -> None:
    write(sql_lake, name)
    swap(sql_lake, name, "n", "s")
    write(sql_lake, name)
    (message,) = missing(sql_lake, name)
    assert message.startswith(f"{name}: n, s no longer means")


def test_what_was_written_anew_since_or_never_written_is_sound(sql_lake: Lake, name: str) -> None:
    readd(sql_lake, name, "s")
    assert missing(sql_lake, name) == []
    write(sql_lake, name)
    readd(sql_lake, name, "s")
    write(sql_lake, name, "overwrite")
    assert missing(sql_lake, name) == []
