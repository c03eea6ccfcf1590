"""Where commands print."""

import pytest
from rich.table import Table

from lakehouse.cli.context import Context


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
