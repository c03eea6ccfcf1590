"""What `spark-submit` is told: by a file that only its owner can read, and no secret in the arguments."""

import json
import os
import stat
import sys
import time
from pathlib import Path

import pytest

from lakehouse.engines.submit import driver_job, submitted
from lakehouse.settings import Platform
from lakehouse_tests.fixtures.spark import settings_of

SUBMIT = """#!{python} -S
import json, os, sys
told = {{"arguments": sys.argv[1:], "environ": dict(os.environ), "properties": open(sys.argv[2]).read()}}
open({report!r}, "w").write(json.dumps(told))
"""


def test_the_driver_is_told_by_a_private_file(tmp_path: Path, jars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report, submit = tmp_path / "told.json", tmp_path / "spark" / "bin" / "spark-submit"
    submit.parent.mkdir(parents=True)
    submit.write_text(SUBMIT.format(python=sys.executable, report=str(report)))
    submit.chmod(0o755)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    monkeypatch.setenv("DAGSTER_HOME", "/nowhere")
    platform = Platform(name="standalone", mode="submit", master="spark://127.0.0.1:7077", rpc_secret="hunter2")
    settings = settings_of(tmp_path / "state", jars, platform)
    job = driver_job(settings.state, "ingest_birds", "run-1")
    with submitted(job, settings, Path("/program.py"), {"DAGSTER_PIPES_CONTEXT": "c"}):
        (properties,) = (job.folder / "private").iterdir()
        assert stat.S_IMODE(properties.stat().st_mode) == 0o600
        while job.running():
            time.sleep(0.01)
    assert not properties.exists()
    told = json.loads(report.read_text())
    assert told["arguments"] == ["--properties-file", str(properties), "--load-spark-defaults", "/program.py"]
    assert "spark.authenticate.secret=hunter2" in told["properties"]
    environ = told["environ"]
    assert environ["LAKEHOUSE__PLATFORM__MODE"] == "classic", "the driver must not submit in its turn"
    assert (environ["LAKEHOUSE_PLATFORM"], environ["DAGSTER_PIPES_CONTEXT"]) == ("standalone", "c")
    assert "DAGSTER_HOME" not in environ
    assert "hunter2" not in json.dumps([told["arguments"], environ])
    assert os.environ["DAGSTER_HOME"] == "/nowhere"
