"""A table that differs from its declaration stops alone, where it may; and what stops it is that declaration."""

from pathlib import Path

import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import (
    ByField,
    Declarations,
    Evolution,
    Stream,
    Table,
    WouldLoseData,
    apply,
    plan,
)
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.ingest.routes.stopping import declared_digest, require_applied_or_stop
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import sql_settings

STOPS = Evolution(otherwise="stop_table")


def stopped(folder: Path, declared: Table, *others: str) -> dict[str, str]:
    folder.mkdir()
    catalog = open_catalog(sql_settings(folder))
    apply(plan(declare({"id": T.StringType()}), catalog), catalog)
    declarations = Declarations({declared.name: declared}, {}, {})
    route = ByField("kind", {name: name for name in (declared.name, *others)})
    stream = Stream(name="things", topic="t", route=route)
    differences = require_applied_or_stop(stream, declarations, read_bases(catalog, [declared.name]))
    return {name: str(difference) for name, difference in differences.items()}


def test_only_a_table_that_may_stop_does(tmp_path: Path) -> None:
    reasons = stopped(tmp_path / "a", declare({"id": T.LongType()}, evolution=STOPS))
    assert "column id is string in the table and long in the declaration" in reasons["raw.things"]
    assert stopped(tmp_path / "b", declare({"id": T.StringType()}, evolution=STOPS)) == {}
    with pytest.raises(WouldLoseData):
        stopped(tmp_path / "c", declare({"id": T.LongType()}, evolution=Evolution()))


def test_another_type_alias_or_policy_is_another_declaration() -> None:
    tables = [
        declare({"id": T.LongType()}, evolution=STOPS),
        declare({"id": T.StringType()}, evolution=STOPS),
        declare({"id": T.LongType()}, evolution=Evolution()),
    ]
    assert len({declared_digest(table) for table in tables}) == 3
    assert declared_digest(tables[0]) == declared_digest(declare({"id": T.LongType()}, evolution=STOPS))
