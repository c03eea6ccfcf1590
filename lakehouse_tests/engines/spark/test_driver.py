"""The JVM of a driver: what is begun is ended."""

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from pyspark import java_gateway

from lakehouse.engines.spark.driver import new_driver
from lakehouse_tests.fixtures.spark import classic_platform, settings_of


def test_a_start_that_is_interrupted_leaves_no_process(
    tmp_path: Path, jars: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = tmp_path / "spark" / "bin" / "spark-submit"
    submit.parent.mkdir(parents=True)
    submit.write_text("#!/bin/sh\nexec sleep 600\n", encoding="ascii")
    submit.chmod(0o755)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    before = set(psutil.Process().children())
    begun: list[psutil.Process] = []

    def interrupt(_: float) -> None:
        begun.extend(set(psutil.Process().children()) - before)
        raise KeyboardInterrupt

    popen = vars(java_gateway)["Popen"]
    monkeypatch.setattr(java_gateway, "time", SimpleNamespace(sleep=interrupt))
    settings = settings_of(tmp_path / "state", jars, classic_platform())
    with pytest.raises(KeyboardInterrupt), new_driver(settings, app_name="never"):
        pytest.fail("it was interrupted before")
    assert begun
    assert not [process for process in begun if process.is_running()]
    assert vars(java_gateway)["Popen"] is popen
