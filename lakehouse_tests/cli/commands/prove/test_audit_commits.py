"""`lakehouse audit` asks of tables that an asset writes, too, who wrote to them.

Guarded mechanism: between a seal and the one before it are commits of its own attempt alone.
"""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from lakehouse.cli import app
from lakehouse.cli.commands.prove import audit as command
from lakehouse_tests.proofs.lineage.computed import A, B, Computed, diamond


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Computed:
    lake = diamond(tmp_path)
    monkeypatch.setattr(command, "catalog_of", lambda _: lake.catalog)
    monkeypatch.setattr(command, "declarations_of", lambda _: lake.declarations)
    return lake


def test_a_delete_by_hand_on_a_table_that_an_asset_writes(lake: Computed) -> None:
    lake.source()
    lake.compute(B)
    lake.load(A).delete("n = 0")
    result = CliRunner().invoke(app, ["audit"])
    assert result.exit_code == 1
    assert f"BROKEN unsealed_commit: {A}: {A}: snapshot {lake.head(A)} (" in result.output


def test_a_table_that_nobody_seals_is_anybodys_to_write(lake: Computed) -> None:
    lake.load(A).append(lake.load(A).scan().to_arrow())
    assert "unsealed_commit" not in CliRunner().invoke(app, ["audit"]).output
