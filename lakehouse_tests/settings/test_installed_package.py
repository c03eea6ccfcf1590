"""The library that has our import package's name in the public index, and extras that are not installed.

`docs/how-to/own-project.md` shows the remedy.
"""

from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lakehouse.cli import app
from lakehouse.settings.installed_package import (
    DISTRIBUTION,
    ExtraMissing,
    NamesakeInstalled,
    refuse_namesake,
    require_extra,
    version,
)


def test_the_distribution_has_a_name_of_its_own() -> None:
    assert version() == metadata.version(DISTRIBUTION)
    assert "lakehouse" in {entry.name for entry in metadata.distribution(DISTRIBUTION).entry_points}
    refuse_namesake()


def test_the_other_lakehouse_is_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "lakehouse-0.12.15.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: lakehouse\nVersion: 0.12.15\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(NamesakeInstalled, match=r"lakehouse 0\.12\.15 is installed too"):
        refuse_namesake()
    done = CliRunner().invoke(app, ["tables"])
    assert (done.exit_code, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert f"pip uninstall --yes lakehouse {DISTRIBUTION} && pip install {DISTRIBUTION}" in done.stderr


def test_what_needs_an_extra_says_which() -> None:
    require_extra("demo", "json", "The demo")
    with pytest.raises(ExtraMissing, match=rf"The demo needs no_such_module.*pip install '{DISTRIBUTION}\[demo\]'"):
        require_extra("demo", "no_such_module", "The demo")
