"""A table is made as it is declared, once; where a declaration has gone ahead of it, nobody writes to it."""

from pathlib import Path

import pytest
from pyspark.sql import types as T  # noqa: N812

from lakehouse.declarations import MAINTENANCE_LOG, Declarations
from lakehouse.orchestration.resources import DeclarationAhead, NotDeclared
from lakehouse.orchestration.resources.declared_tables import TableStopped, declared_table, ensure_table
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import Lake


def test_a_name_that_nobody_declared_is_refused_with_where_to_declare_it() -> None:
    table = declare({"id": T.LongType()})
    declarations = Declarations({table.name: table}, {}, {})
    assert declared_table(declarations, table.name, ()) is table
    with pytest.raises(NotDeclared, match=r"mart\.secret is not declared.*below house/tables, house/more"):
        declared_table(declarations, "mart.secret", (Path("house/tables"), Path("house/more")))


def test_a_table_that_a_mistake_stops_is_refused_with_the_mistake() -> None:
    declarations = Declarations({}, {}, {}, stopped={"mart.sales": "sales.py, line 3: SyntaxError."})
    with pytest.raises(TableStopped, match=r"mart\.sales is stopped: sales\.py, line 3.*correct that file"):
        declared_table(declarations, "mart.sales", ())


def test_a_table_is_made_once(sql_lake: Lake) -> None:
    table = declare({"id": T.LongType()})
    assert [ensure_table(sql_lake.catalog, table) for _ in range(2)] == [True, False]
    assert sql_lake.load(table.name).schema().column_names == ["id"]


def test_a_declaration_that_has_gone_ahead_stops_its_writers(sql_lake: Lake) -> None:
    ensure_table(sql_lake.catalog, declare({"id": T.LongType()}))
    ahead = declare({"id": T.LongType(), "name": T.StringType()})
    with pytest.raises(DeclarationAhead, match=r"name.*`lakehouse plan`, then make it with `lakehouse apply`"):
        ensure_table(sql_lake.catalog, ahead)
    assert sql_lake.load(ahead.name).schema().column_names == ["id"]


def test_an_own_table_of_an_earlier_version_is_brought_along(sql_lake: Lake) -> None:
    ensure_table(sql_lake.catalog, MAINTENANCE_LOG)
    with sql_lake.load(MAINTENANCE_LOG.name).update_schema(allow_incompatible_changes=True) as earlier:
        earlier.delete_column("measured")
        earlier.update_column("predicted", required=True)
    assert not ensure_table(sql_lake.catalog, MAINTENANCE_LOG)
    schema = sql_lake.load(MAINTENANCE_LOG.name).schema()
    assert "measured" in schema.column_names
    assert not schema.find_field("predicted").required
