"""Spark on AWS Glue's catalog, as far as moto carries: by Iceberg's own GlueCatalog and S3FileIO."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lakehouse_tests.fixtures.lakes import Lake


@pytest.mark.soak  # its JARs are brought first, 60 MB
@pytest.mark.spark
def test_spark_and_python_read_each_others_rows(glue_lake: Lake, tmp_path: Path) -> None:
    glue_lake.create("a")
    glue_lake.create("made")
    glue_lake.write("first", a=[1])
    environ = {**os.environ, "LAKEHOUSE_HOME": str(tmp_path / "state"), "LAKEHOUSE_CATALOG": "glue"}
    subprocess.run([sys.executable, "-m", "lakehouse", "jars"], env=environ, check=True, timeout=300)
    arguments = [glue_lake.settings.model_dump_json(), glue_lake.namespace]
    child = [sys.executable, "-m", "lakehouse_tests.engines.spark.glue_child", *arguments]
    subprocess.run(child, env=environ, check=True, timeout=200)
