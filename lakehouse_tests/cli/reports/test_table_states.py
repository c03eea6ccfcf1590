"""What commands that look are told of tables: those that exist with rows and commit, and those that do not."""

from pathlib import Path

import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.cli.context import Context
from lakehouse.cli.reports.table_states import lake_states
from lakehouse.declarations import Declarations
from lakehouse.settings import KafkaSettings
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.orchestration.assets.house import write_conf


def test_a_table_is_told_with_its_rows_and_its_commit_or_as_not_created(
    sql_lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = sql_lake.create("a")
    sql_lake.write("first", a=[1, 2])
    tables = [declare({"n": T.LongType()}, name=table_name) for table_name in (name, "raw.planned")]
    declared = Declarations({table.name: table for table in tables}, {}, {})
    monkeypatch.setattr("lakehouse.cli.reports.table_states.all_declarations", lambda _: declared)
    monkeypatch.setattr("lakehouse.cli.reports.table_states.catalog_of", lambda _: sql_lake.catalog)
    context = Context(write_conf(tmp_path, KafkaSettings(bootstrap_servers="127.0.0.1:1"), tmp_path))
    states = lake_states(context)
    shown = {state.table: (state.exists, state.rows, bool(state.committed_at)) for state in states.tables}
    assert shown == {name: (True, 2, True), "raw.planned": (False, 0, False)}
    assert (states.streams, states.mirrors, states.statements) == ([], [], {})
