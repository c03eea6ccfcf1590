"""`lakehouse backup` and `lakehouse restore`, as docs/how-to/backup.md shows them."""

import shutil
from pathlib import Path

import pytest

from lakehouse.settings.state import StateFolder
from lakehouse_tests.cli.conftest import Lakehouse
from lakehouse_tests.guides import ROOT


@pytest.mark.slow
def test_the_page_does_what_it_says(
    lakehouse: Lakehouse, empty_state: StateFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert lakehouse("apply").exit_code == 0
    taken = lakehouse("backup", "backups/monday")
    assert taken.exit_code == 0, taken.output
    assert "files linked, 0 copied." in taken.stdout
    refused = lakehouse("restore", "backups/monday")
    assert refused.exit_code == 2
    shutil.rmtree(empty_state.warehouse)
    for file in empty_state.root.glob("catalog.db*"):
        file.unlink()
    page = (ROOT / "docs" / "how-to" / "backup.md").read_text(encoding="utf-8")
    block = page.partition("test_backup.py")[2].partition("```shell\n")[2].partition("```")[0]
    for line in block.splitlines():
        done = lakehouse(*line.split()[1:])
        assert done.exit_code == 0, done.output
