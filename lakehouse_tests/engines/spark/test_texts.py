import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException

from lakehouse.engines.spark.texts import keep_texts
from lakehouse.settings import Settings
from lakehouse_tests.fixtures.spark import SparkOn, classic_platform, settings_of

FAILS = """
import sys
from pathlib import Path
from lakehouse.settings import Settings
from lakehouse.engines.spark import spark_session

with spark_session(Settings.model_validate_json(Path(sys.argv[1]).read_text()), app_name="fails") as session:
    session.table("lake.nobody.knows")
"""


@pytest.mark.soak
@pytest.mark.spark
def test_an_error_is_told_when_its_jvm_is_gone(tmp_path: Path, jars: Path) -> None:
    settings = settings_of(tmp_path / "state", jars, classic_platform())
    (tmp_path / "settings.json").write_text(settings.model_dump_json())
    command = [sys.executable, "-c", FAILS, tmp_path / "settings.json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "AnalysisException: [TABLE_OR_VIEW_NOT_FOUND]" in done.stderr
    assert "exception str() failed" not in done.stderr


@pytest.mark.spark
def test_an_error_stays_what_it_is(spark_on: SparkOn, spark_settings: Settings) -> None:
    with pytest.raises(AnalysisException) as caught, spark_on(spark_settings.catalog) as session:
        session.table("lake.nobody.knows")
    before = str(caught.value)
    outer = ValueError("outer")
    outer.__cause__ = caught.value
    keep_texts(outer)
    assert str(caught.value) == before
    assert type(caught.value).__name__ == "AnalysisException"
    assert isinstance(caught.value, AnalysisException)
    assert caught.value.getCondition() == "TABLE_OR_VIEW_NOT_FOUND"
