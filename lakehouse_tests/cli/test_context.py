"""Where commands print."""

import io
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from lakehouse.cli.context import Context, catalog_of


@pytest.mark.parametrize(("columns", "whole"), [(None, True), ("80", False)])
def test_results_that_are_piped_are_not_cut_unless_a_width_is_asked_for(
    columns: str | None, whole: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    shown = Table("table", "decided by")
    shown.add_row("features.training", "x" * 200)
    Context().out.print(shown)
    printed = capsys.readouterr().out
    assert ("x" * 200 in printed) is whole
    assert max(map(len, printed.splitlines())) < (300 if whole else 81)


def test_whoever_asks_glue_is_told_once_that_tables_change_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKEHOUSE_CATALOG", "glue")
    monkeypatch.setenv("LAKEHOUSE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("lakehouse.protocol.catalog.open_catalog", lambda *_: None)
    context = Context(err=Console(file=(written := io.StringIO()), width=300))
    catalog_of(context)
    catalog_of(context)
    assert written.getvalue().count("P2 does not hold") == 1
