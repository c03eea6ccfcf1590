"""Only tables with a policy of evolution are other than declared."""

from pathlib import Path

import pyspark.sql.types as T  # noqa: N812

from lakehouse.declarations import Declarations, Evolution, apply, plan
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.ingest.evolve.evolved_tables import as_evolved
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import sql_settings


def test_a_table_that_has_grown(tmp_path: Path) -> None:
    catalog = open_catalog(sql_settings(tmp_path))
    for name in ("raw.a", "raw.b"):
        apply(plan(declare({"id": T.LongType(), "more": T.LongType()}, name=name), catalog), catalog)
    a, b = (
        declare({"id": T.LongType()}, name="raw.a", evolution=Evolution()),
        declare({"id": T.LongType()}, name="raw.b"),
    )
    declarations = as_evolved(Declarations({"raw.a": a, "raw.b": b}, {}, {}), read_bases(catalog, ["raw.a", "raw.b"]))
    assert [column.name for column in declarations.tables["raw.a"].columns] == ["id", "more"]
    assert declarations.tables["raw.b"] is b
