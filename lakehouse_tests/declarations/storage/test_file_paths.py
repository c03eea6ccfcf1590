"""A partition may be a text of any length, whoever writes its files."""

from pathlib import Path

import pyspark.sql.types as T  # noqa: N812
import pytest
from pyiceberg.table import Table

from lakehouse.declarations import apply, plan, table_properties
from lakehouse.declarations.storage.file_paths import path_properties
from lakehouse.engines.spark.naming import quoted_table
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn

COLUMNS = {"id": T.LongType(), "name": T.StringType(), "raw": T.BinaryType(), "day": T.DateType()}
HASHED = {"write.object-storage.enabled": "true", "write.object-storage.partitioned-paths": "false"}
LONG = ["x" * 260, "ü" * 60, "plain"]


@pytest.mark.parametrize("partitioning", ["name", "raw", "truncate(40, name)", "truncate(40, raw)"])
def test_values_of_any_length_are_in_no_path(partitioning: str) -> None:
    assert path_properties(declare(COLUMNS, partitioning=("day", partitioning))) == HASHED


def test_values_that_are_short_by_their_type_stay_in_paths() -> None:
    short = declare(COLUMNS, partitioning=("bucket(4, name)", "day(day)", "truncate(10, id)"))
    assert path_properties(short) == {}
    assert not HASHED.keys() & table_properties(short).keys()


def test_a_declaration_may_say_otherwise() -> None:
    own = declare(COLUMNS, partitioning=("name",), properties={"write.object-storage.enabled": "false"})
    assert table_properties(own)["write.object-storage.enabled"] == "false"


def files(table: Table) -> list[Path]:
    paths = [Path(task.file.file_path.removeprefix("file:")) for task in table.scan().plan_files()]
    return [path.relative_to(Path(table.location().removeprefix("file:"))) for path in paths]


@pytest.mark.spark
def test_spark_writes_and_rewrites_a_partition_of_any_text(sql_lake: Lake, spark_on: SparkOn) -> None:
    """A sorted table, which Spark writes itself; so are a mirror and a derived table."""
    name = f"{sql_lake.namespace}.texts"
    declared = declare(COLUMNS, name, partitioning=("name",), sort_order=("id",))
    apply(plan(declared, sql_lake.catalog), sql_lake.catalog)
    with spark_on(sql_lake.settings) as spark:
        for first in (0, 3):
            rows = [(first + number, text, None, None) for number, text in enumerate(LONG)]
            spark.createDataFrame(rows, "id long, name string, raw binary, day date").writeTo(
                quoted_table(name)
            ).append()
        assert len(files(sql_lake.load(name))) == 6
        spark.sql(
            f"CALL lake.system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))"
        ).collect()
    table = sql_lake.load(name)
    assert sorted(table.scan().to_arrow()["name"].to_pylist()) == sorted(LONG * 2)
    assert len(files(table)) == 3
    assert all(path.parts[0] == "data" and "name=" not in str(path) for path in files(table))
