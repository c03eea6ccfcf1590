"""A service that brings another Spark is named in the step's own words, before anything of ours is loaded by it."""

import json
import os
from pathlib import Path

import pyspark
import pytest

from lakehouse.engines.submit.job_folder import REQUEST_FILE, newest_folder
from lakehouse.engines.submit.order import SPARK
from lakehouse.remote_step.__main__ import main
from lakehouse.settings import load_settings

CONF = Path(__file__).parents[2] / "conf"
CONTEXT = {
    "asset_keys": None,
    "code_version_by_asset_key": None,
    "provenance_by_asset_key": None,
    "partition_key": None,
    "partition_key_range": None,
    "partition_time_window": None,
    "run_id": "00000000-0000-4000-8000-000000000001",
    "job_name": None,
    "retry_number": 0,
    "extras": {},
}


def test_our_spark_is_that_of_the_locked_jars() -> None:
    assert pyspark.__version__.startswith(f"{SPARK}.")
    assert f"iceberg-spark-runtime-{SPARK}_" in (CONF / "jars" / "jars.sha256").read_text()


def test_another_spark_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {"LAKEHOUSE_CONF": str(CONF), "LAKEHOUSE_HOME": str(tmp_path), "LAKEHOUSE_PLATFORM": "glue"}
    for name in environ:
        monkeypatch.setenv(name, "")  # what the driver sets is undone
    environ["LAKEHOUSE__PLATFORM__MESSAGES"] = str(tmp_path / "steps")
    environ["LAKEHOUSE__PLATFORM__MODE"] = "submit"
    for name in ("LAKEHOUSE__PLATFORM__MESSAGES", "LAKEHOUSE__PLATFORM__MODE"):
        monkeypatch.setenv(name, "")
    folder = newest_folder(load_settings(CONF, environ), "ingest_birds", "run-1")
    folder.write(REQUEST_FILE, json.dumps(CONTEXT).encode())
    monkeypatch.setattr(pyspark, "__version__", "3.5.4")
    arguments = ["--folder", folder.location, "--environ", json.dumps(environ), "--JOB_NAME", "lakehouse-step"]
    assert main(arguments) == 1
    ends = [json.loads(line) for line in folder.messages() if '"kind": "end"' in line]
    (end,) = (message["params"]["payload"] for message in ends)
    assert (end["outcome"], end["error"]) == ("failure", "SparkUnfit")
    assert "Spark of this service is 3.5.4, and lakehouse needs 4.1" in end["message"]
    assert os.environ["LAKEHOUSE_PLATFORM"] == "glue"
