"""What a worker is made of is measured where nothing of ours can be imported, and each difference has its name."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyspark
import pytest
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lakehouse.engines.spark import WorkersDiffer, worker_environment
from lakehouse.engines.spark.worker_environment import (
    PACKAGES,
    PythonEnvironment,
    differences,
    environment_json,
    require_same_workers,
    this_environment,
)


def test_the_same_environment_has_no_difference() -> None:
    assert differences(this_environment(), this_environment()) == []
    assert {"polars", "pyarrow", "pyiceberg", "msgspec"} <= this_environment().packages.keys()


def test_each_difference_is_named_with_both_sides() -> None:
    here = PythonEnvironment("driver", "3.11", {"polars": "1.33.0", "pyarrow": "26.0.0"}, "c0de")
    there = replace(here, host="w1", python="3.12", packages={"polars": "1.32.0"}, code="")
    assert differences(here, there) == [
        "Python 3.12 there, 3.11 here",
        f"packages of digest {there.digest} there, {here.digest} here",
        "polars 1.32.0 there, 1.33.0 here",
        "pyarrow missing there, 26.0.0 here",
        "the package lakehouse is missing there",
    ]
    assert differences(here, replace(here, code="01d")) == ["modules of lakehouse with digest 01d there, c0de here"]


def test_it_is_measured_where_nothing_of_ours_is_installed(tmp_path: Path) -> None:
    cloudpickle.register_pickle_by_value(worker_environment)
    try:
        (tmp_path / "task").write_bytes(cloudpickle.dumps(environment_json))
    finally:
        cloudpickle.unregister_pickle_by_value(worker_environment)
    # Workers have Spark's own archives, and here nothing else.
    archives = list((Path(pyspark.__file__).parent / "python" / "lib").glob("*.zip"))
    program = (
        "import pickle, sys; sys.path[:0] = sys.argv[2:]; "
        "print(pickle.load(open(sys.argv[1], 'rb'))(['polars']).decode())"
    )
    measured = subprocess.run(
        [sys.executable, "-S", "-I", "-c", program, tmp_path / "task", *archives], capture_output=True, check=True
    )
    environment = json.loads(measured.stdout)
    assert environment["packages"] == {}
    assert environment["code"] == ""
    assert environment["python"] == this_environment().python


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("[PYTHON_VERSION_MISMATCH] Python in worker has different version", "another minor version"),
        ('java.io.IOException: Cannot run program "./environment/bin/python"', "cannot be started"),
    ],
)
def test_a_worker_that_cannot_answer_is_named(text: str, meaning: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: SparkSession) -> list[PythonEnvironment]:
        raise PySparkException(text)

    monkeypatch.setattr(worker_environment, "_of_workers", fails)
    with pytest.raises(WorkersDiffer, match=meaning):
        require_same_workers(None)  # pyright: ignore[reportArgumentType]


@pytest.mark.spark
def test_workers_of_this_environment_pass(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    require_same_workers(spark)
    monkeypatch.setattr(worker_environment, "this_environment", lambda: replace(this_environment(), code="another"))
    with pytest.raises(WorkersDiffer, match="modules of lakehouse with digest"):
        require_same_workers(spark)
    assert len(PACKAGES) > 10
