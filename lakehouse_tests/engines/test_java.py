"""Which Java a command would use, and that one that is missing or too old is said so before anything starts."""

import stat
from pathlib import Path

import pytest

from lakehouse.engines.java import JavaUnusable, java_command, require_java


def java_home(root: Path, version: str) -> Path:
    """A home whose Java says this version."""
    java = root / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2026-01-20' >&2\n")
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    return root


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_home(tmp_path, "17.0.9")))
    assert java_command() == str(tmp_path / "bin" / "java")
    require_java()


def test_without_java_the_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JavaUnusable, match=r"No Java found\. Remedy: install `openjdk-17-jdk-headless`"):
        require_java()


@pytest.mark.parametrize(("version", "major"), [("11.0.2", "11"), ("1.8.0_392", "8")])
def test_an_old_java_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, major: str) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_home(tmp_path, version)))
    with pytest.raises(JavaUnusable, match=f"is Java {major}, and Spark needs 17 or later"):
        require_java()
