"""`lakehouse init` in a folder with other files, and where one of its own is there."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from lakehouse.cli import app


def init(*words: str) -> Result:
    return CliRunner().invoke(app, ["init", *words])


def test_it_says_what_it_wrote_and_what_to_do_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = init("shop")
    assert (done.exit_code, done.stderr) == (0, "Next: cd shop && lakehouse run\n")
    assert "shop/conf/lakehouse.yaml" in done.stdout.splitlines()


def test_a_folder_in_use_is_good_unless_a_file_would_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert init(str(tmp_path)).exit_code == 0
    again = init(str(tmp_path))
    assert (again.exit_code, again.stdout, len(again.stderr.splitlines())) == (2, "", 1)
    assert "exists; nothing was written" in again.stderr
    assert (tmp_path / "notes.txt").read_text() == "mine"
