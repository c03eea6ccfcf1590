"""What a machine lacks is fetched, or named in one line, before anything is started."""

import io
import shutil
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from lakehouse.cli import app
from lakehouse.cli.processes.prerequisites import PrerequisiteMissing, bring_prerequisites
from lakehouse.engines.java import JavaUnusable
from lakehouse.engines.maven import JarsNotFetched
from lakehouse.settings import Settings, load_settings
from lakehouse_tests.fixtures.broker import REPOSITORY


def settings(state: Path, **environ: str) -> Settings:
    given = {name: value for name, value in environ.items() if value}
    return load_settings(REPOSITORY / "conf", {"LAKEHOUSE_HOME": str(state), **given})


def bring(chosen: Settings) -> None:
    bring_prerequisites(chosen, Console(file=io.StringIO()))


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which nothing is installed."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


def test_with_nothing_at_all_one_line_names_everything(bare: Path) -> None:
    with pytest.raises(
        PrerequisiteMissing, match="`openjdk-17-jdk-headless`; install the package `maven`, or set LAKE"
    ):
        bring(settings(bare / "state"))
    done = CliRunner().invoke(app, ["up"], env={"LAKEHOUSE_HOME": str(bare / "state")})
    assert (done.exit_code, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)


def test_without_maven_alone_the_way_without_is_named(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = shutil.which("java", path="/usr/bin")
    assert java is not None
    (bare / "bin" / "java").symlink_to(java)
    with pytest.raises(JarsNotFetched, match="LAKEHOUSE_JARS"):
        bring(settings(bare / "state"))


def test_with_the_jars_only_java_is_wanted(bare: Path, jars: Path) -> None:
    with pytest.raises(JavaUnusable, match=r"No Java found\. Remedy: install `openjdk-17-jdk-headless`$"):
        bring(settings(bare / "state", LAKEHOUSE_JARS=str(jars)))


def test_jars_are_brought_from_the_folder_that_is_named(tmp_path: Path, jars: Path) -> None:
    chosen = settings(tmp_path / "state", LAKEHOUSE_JARS=str(jars))
    bring(chosen)
    assert {path.name for path in (chosen.state.jars / "spark").glob("*.jar")} == {
        path.name for path in (jars / "spark").glob("*.jar")
    }


def test_where_nothing_is_ours_to_start_nothing_is_wanted(bare: Path) -> None:
    chosen = settings(bare / "state", LAKEHOUSE__KAFKA__LOCAL="false")
    elsewhere = chosen.platform.model_copy(update={"mode": "connect", "master": None, "remote": "sc://far:15002"})
    bring(chosen.model_copy(update={"platform": elsewhere}))
    assert not (bare / "state").exists()
