"""`lakehouse audit` names a column that somebody dropped, and ends with 1, whatever else ended without an answer."""

from typer.testing import CliRunner

from lakehouse.cli import app
from lakehouse_tests.proofs.lineage.computed import A, B, Computed


def test_a_column_of_a_source_and_of_a_derived_table(lake: Computed) -> None:
    assert "columns_differ" not in CliRunner().invoke(app, ["audit"]).output
    columns = {}
    for name in (A, B):
        table = lake.load(name)
        columns[name] = table.schema().column_names[-1]
        with table.update_schema() as update:
            update.rename_column(columns[name], "other")
    result = CliRunner().invoke(app, ["audit"])
    assert result.exit_code == 1
    for name, column in columns.items():
        assert f"BROKEN columns_differ: {name}: {name} lacks {column}: " in result.output
