"""A table as its stream has made it: the declaration still decides, and nothing that was added is lost."""

from pathlib import Path

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import Evolution, WouldLoseData, apply, plan
from lakehouse.declarations.schema_changes.evolved import with_stored_columns
from lakehouse.protocol.catalog import open_catalog
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import sql_settings

FIRST = {"id": pandera.Column(T.LongType(), nullable=False), "count": T.IntegerType()}
MORE = {"id": pandera.Column(T.LongType(), nullable=True), "count": T.LongType(), "more": T.StringType()}


def test_the_declaration_follows_the_table_and_applying_it_takes_nothing_back(tmp_path: Path) -> None:
    catalog = open_catalog(sql_settings(tmp_path))
    stored = apply(plan(declare(dict(MORE)), catalog), catalog)
    with pytest.raises(WouldLoseData, match="column more is in the table and not in the declaration"):
        plan(declare(dict(FIRST)), catalog)
    declared = declare(dict(FIRST), evolution=Evolution())
    by_now = with_stored_columns(declared, stored.schema(), stored.properties)
    assert [(c.name, c.type, c.required, c.sensitive) for c in by_now.columns] == [
        ("id", T.LongType(), False, False),
        ("count", T.LongType(), False, False),
        ("more", T.StringType(), False, True),
    ]
    changed = apply(plan(declared, catalog), catalog)
    assert changed.schema().as_struct() == stored.schema().as_struct()
    assert not plan(declared, catalog)


def test_a_type_that_does_not_meet_the_declared_one_is_named(tmp_path: Path) -> None:
    catalog = open_catalog(sql_settings(tmp_path))
    apply(plan(declare({"id": T.StringType()}), catalog), catalog)
    with pytest.raises(WouldLoseData, match="column id is string in the table and long in the declaration"):
        plan(declare({"id": T.LongType()}, evolution=Evolution()), catalog)
