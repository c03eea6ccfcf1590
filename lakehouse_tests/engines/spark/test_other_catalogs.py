"""A session finds a table of another SQL catalog by the document that it was shown, at the snapshot that it names."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.engines.spark import spark_session
from lakehouse.engines.spark.naming import rows_at
from lakehouse.engines.spark.other_catalogs import show_table
from lakehouse.protocol.seals.history import head_of
from lakehouse.settings import Settings
from lakehouse_tests.fixtures.lakes import Lake, sql_settings

pytestmark = pytest.mark.spark


def test_a_table_is_read_as_it_was_shown_and_shown_anew(
    sql_lake: Lake, spark: SparkSession, spark_settings: Settings, tmp_path: Path
) -> None:
    del spark
    (tmp_path / "own").mkdir()
    chosen = {"catalog": sql_settings(tmp_path / "own"), "other_catalogs": {"the-other": sql_lake.settings}}
    name = sql_lake.create("sales")
    elsewhere = f"the-other:{name}"
    with spark_session(spark_settings.model_copy(update=chosen), app_name="test") as session:
        for numbers in ([1], [2]):
            sql_lake.write(f"step-{numbers[0]}", sales=numbers)
            table = sql_lake.load(name)
            show_table(session, elsewhere, table.metadata_location)
            rows = rows_at(session, elsewhere, head_of(table) or 0).collect()
            assert sorted(row["n"] for row in rows) == list(range(1, numbers[0] + 1))
        show_table(session, name, "")  # one of the own catalog is found as ever
    assert sql_lake.load(name).metadata_location == table.metadata_location
