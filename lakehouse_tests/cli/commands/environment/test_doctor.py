"""`lakehouse doctor`: exit codes, JSON, and settings that cannot be read."""

import json
from pathlib import Path

import pytest

from lakehouse_tests.cli.conftest import Lakehouse


def test_what_is_wrong_is_told_with_its_remedy_and_ends_with_1(
    lakehouse: Lakehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lakehouse("doctor", "--read-only").exit_code == 0
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    called = lakehouse("doctor", "--read-only")
    assert called.exit_code == 1
    (java,) = [line for line in called.stdout.splitlines() if line.startswith("wrong     java:")]
    assert "Remedy: install" in java


def test_json_has_every_finding(lakehouse: Lakehouse, tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text("apiVersion: kafka.strimzi.io/v1beta2\nkind: Kafka\n")
    called = lakehouse("doctor", "--read-only", "--json", "--manifests", str(tmp_path))
    report = json.loads(called.stdout)
    assert report["well"] is False
    assert {"secrets", "java", "jars", "disk", "manifests"} <= {finding["check"] for finding in report["findings"]}


def test_settings_that_cannot_be_read_end_with_2(lakehouse: Lakehouse) -> None:
    called = lakehouse("doctor", "--json", "--catalog", "nosuch")
    assert (called.exit_code, called.stdout) == (2, "")
    assert "there is no file of that name" in called.stderr


def test_spark_writes_so_it_is_not_asked_where_nothing_may_be_written(lakehouse: Lakehouse) -> None:
    called = lakehouse("doctor", "--read-only", "--spark")
    assert (called.exit_code, called.stdout) == (2, "")
