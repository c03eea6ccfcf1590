"""What `spark-submit` is told: by a file that only its owner can read, and no secret in the arguments."""

import json
import os
import sys
from pathlib import Path

import pytest

from lakehouse.engines.submit.driver_job import DriverJob
from lakehouse.engines.submit.job_folder import newest_folder
from lakehouse.engines.submit.remote_jobs import JobCost, JobState, LaunchToken
from lakehouse.engines.submit.spark_submit import PROGRAM, SparkSubmitJobs
from lakehouse.settings import Platform
from lakehouse_tests.fixtures.spark import settings_of

SUBMIT = """#!{python} -S
import json, os, sys, time
given = {{"arguments": sys.argv[1:], "environ": dict(os.environ), "properties": open(sys.argv[2]).read()}}
given["mode"] = oct(os.stat(sys.argv[2]).st_mode & 0o777)
open({report!r}, "w").write(json.dumps(given))
folder = sys.argv[-1]
os.makedirs(folder + "/messages")
open(folder + "/messages/1.jsonl", "w").write("{{}}\\n\\n")
print("at work", flush=True)
time.sleep(600)
"""


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What stands for `spark-submit` writes what it was given, says that it is at work, and stays so."""
    report, submit = tmp_path / "given.json", tmp_path / "spark" / "bin" / "spark-submit"
    submit.parent.mkdir(parents=True)
    submit.write_text(SUBMIT.format(python=sys.executable, report=str(report)))
    submit.chmod(0o755)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    monkeypatch.setenv("DAGSTER_HOME", "/nowhere")
    return report


def test_a_driver_is_started_by_a_private_file_found_and_ended(report: Path, tmp_path: Path, jars: Path) -> None:
    platform = Platform(name="standalone", mode="submit", master="spark://127.0.0.1:7077", rpc_secret="hunter2")
    settings = settings_of(tmp_path / "state", jars, platform)
    jobs, folder = SparkSubmitJobs(settings), newest_folder(settings, "ingest_birds", "run-1")
    assert jobs.find(folder.token) is None
    job = jobs.start(folder.token, folder.location)
    assert jobs.state(job) == JobState("running")
    assert (jobs.find(folder.token), jobs.cost(job)) == (job, JobCost())
    assert jobs.find(LaunchToken("ingest_birds", "run-1", 2)) is None
    assert list(jobs.at_work("ingest_birds")) == [(folder.token, job)]
    assert list(jobs.at_work("mirror_birds")) == []
    jobs.cancel(job)
    assert jobs.state(job) == JobState("ended", "at work")
    assert list(jobs.at_work("ingest_birds")) == []
    assert jobs.logs(job) == str(DriverJob(Path(job)).log)

    given = json.loads(report.read_text())
    (_, properties, *program) = given["arguments"]
    assert given["mode"] == "0o600"
    assert not Path(properties).exists(), "it is there until the driver has said that it is at work"
    assert program == ["--load-spark-defaults", str(PROGRAM), "--folder", folder.location]
    assert "spark.authenticate.secret=hunter2" in given["properties"]
    environ = given["environ"]
    assert environ["LAKEHOUSE__PLATFORM__MODE"] == "classic", "the driver must not submit in its turn"
    assert environ["LAKEHOUSE_PLATFORM"] == "standalone"
    assert "DAGSTER_HOME" not in environ
    assert "hunter2" not in json.dumps([given["arguments"], environ])
    assert os.environ["DAGSTER_HOME"] == "/nowhere"
