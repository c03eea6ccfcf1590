"""`lakehouse audit` asks of tables that an asset writes, too, who wrote to them.

Guarded mechanism: between a seal and the one before it are commits of its own attempt alone.
"""

import pytest
from typer.testing import CliRunner

from lakehouse.cli import app
from lakehouse_tests.proofs.lineage.computed import A, B, Computed


def test_a_delete_by_hand_on_a_table_that_an_asset_writes(lake: Computed) -> None:
    lake.load(A).delete("n = 0")
    result = CliRunner().invoke(app, ["audit"])
    assert result.exit_code == 1
    assert f"BROKEN unsealed_commit: {A}: {A}: snapshot {lake.head(A)} (" in result.output


def test_a_table_that_nobody_seals_is_anybodys_to_write(unwritten: Computed) -> None:
    table = unwritten.load(A)
    table.append(table.scan().to_arrow())
    assert "unsealed_commit" not in CliRunner().invoke(app, ["audit"]).output


@pytest.mark.parametrize("name", [A, B])
def test_a_main_that_somebody_removed(lake: Computed, name: str) -> None:
    """A table that an asset writes, and a computed one: both are empty for every reader."""
    before = lake.head(name)
    lake.load(name).manage_snapshots().remove_branch("main").commit()
    result = CliRunner().invoke(app, ["audit"])
    assert result.exit_code == 1
    assert f"BROKEN no_main: {name}: {name}: its branch `main` is gone" in result.output
    assert f"set_current_snapshot('{name}', {before})" in result.output
