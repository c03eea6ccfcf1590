"""Columns that a table lacks, or has narrower than declared, are named with the remedy."""

from pathlib import Path

import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import Declarations, apply, plan
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.ingest.routes.applied_tables import NotApplied, require_applied
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import sql_settings


def test_a_column_that_is_missing_and_one_that_is_narrower_are_named(tmp_path: Path) -> None:
    catalog = open_catalog(sql_settings(tmp_path))
    made = declare({"id": T.IntegerType()})
    apply(plan(made, catalog), catalog)
    bases = read_bases(catalog, [made.name])
    require_applied(Declarations({made.name: made}, {}, {}), bases)
    wanted = declare({"id": T.LongType(), "more": T.StringType()})
    with pytest.raises(NotApplied, match=r"raw\.things: .*id.*more.*lakehouse apply"):
        require_applied(Declarations({made.name: wanted}, {}, {}), bases)
