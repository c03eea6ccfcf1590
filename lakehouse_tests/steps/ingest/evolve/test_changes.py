"""Several who change a table at once end with the same table."""

from pathlib import Path

import pyspark.sql.types as T  # noqa: N812

from lakehouse.declarations import Evolution, Table, apply, plan
from lakehouse.protocol.catalog import open_catalog
from lakehouse.steps.ingest.evolve.changes import TableChanges, carry_out
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import sql_settings


def table(**columns: T.DataType) -> Table:
    return declare({"id": T.LongType(), **columns}, evolution=Evolution())


def test_changes_that_were_decided_on_from_the_same_table(tmp_path: Path) -> None:
    catalog = open_catalog(sql_settings(tmp_path))
    apply(plan(table(), catalog), catalog)
    changes = TableChanges({"raw.things": table(more=T.StringType())}, {"raw.things": ["a remark"]})
    assert carry_out(catalog, changes) == {"raw.things": ["add column more string", "a remark"]}
    assert carry_out(catalog, changes) == {"raw.things": ["a remark"]}
    other = TableChanges({"raw.things": table(most=T.LongType())})
    assert carry_out(catalog, other) == {"raw.things": ["add column most long"]}
    assert catalog.load_table(("raw", "things")).schema().column_names == ["id", "most", "more"]
    assert carry_out(catalog, TableChanges({"raw.things": table(more=T.LongType())})) == {}
