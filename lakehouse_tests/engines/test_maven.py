"""Maven is called as it is installed; without it, or where it fails, one line says what to do."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from lakehouse.engines.maven import JarsNotFetched, copy_dependencies, has_maven
from lakehouse_tests.engines.test_jars import maven


def copy(folder: Path) -> None:
    copy_dependencies(folder / "pom.xml", folder / "jars", {"a.jar"}, Console(file=io.StringIO()))


def test_the_reason_why_maven_failed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maven(tmp_path / "bin", 'echo "[ERROR] no route to anywhere"; exit 1', monkeypatch)
    assert has_maven()
    with pytest.raises(JarsNotFetched, match="no route to anywhere"):
        copy(tmp_path)


def test_a_full_disk_is_not_taken_for_the_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maven(tmp_path / "bin", 'echo "[ERROR] a.jar: No space left on device"; exit 1', monkeypatch)
    with pytest.raises(JarsNotFetched, match=r"Remedy: the disk of .*jars, .* is full: make room, .*LAKEHOUSE_HOME"):
        copy(tmp_path)


def test_missing_maven_names_the_package_and_the_way_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not has_maven()
    with pytest.raises(JarsNotFetched, match="install the package `maven`, or set LAKEHOUSE_JARS"):
        copy(tmp_path)
