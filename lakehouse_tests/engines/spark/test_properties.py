"""The file of properties is its owner's alone, says what it was given, and goes."""

import re
import stat
from pathlib import Path

import pytest

from lakehouse.engines.spark.properties import properties_file

CONF = {"spark.secret": "a=b c\\d\n€ 🐦", "spark.empty": ""}


def test_only_its_owner_reads_it_and_java_reads_what_was_meant(tmp_path: Path) -> None:
    with properties_file(CONF, tmp_path / "new") as path:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        lines = [line.partition("=") for line in path.read_text(encoding="ascii").splitlines()]
        assert {key: _as_java_reads(value) for key, _, value in lines} == CONF
    assert not path.exists()


def test_it_goes_also_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no JVM"), properties_file(CONF, tmp_path):
        raise RuntimeError("no JVM")
    assert list(tmp_path.iterdir()) == []


def _as_java_reads(text: str) -> str:
    units = re.sub(r"\\u([0-9a-f]{4})", lambda match: chr(int(match[1], 16)), text)
    return units.encode("utf-16", "surrogatepass").decode("utf-16")
