from pathlib import Path

from lakehouse.doctor.machine.jar_files import jar_files, twice, versions
from lakehouse.settings import load_settings
from lakehouse_tests.fixtures.spark import REPOSITORY

_JAR = Path("/lake/jars/iceberg-spark-runtime-4.1_2.13-1.12.0.jar")


def test_icebergs_jar_twice_is_named() -> None:
    (finding,) = twice([_JAR, Path("/opt/spark/jars") / _JAR.name], "")
    assert f"2 times: {_JAR}, /opt/spark/jars/" in finding.message
    (packages,) = twice([_JAR], "a:b:1,org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0")
    assert "spark.jars.packages" in packages.remedy
    assert list(twice([_JAR, _JAR], "a:b:1")) == []


def test_a_runtime_of_another_spark_is_named() -> None:
    (finding,) = versions([_JAR], "4.0.2")
    assert "made for Spark 4.1, and PySpark is 4.0.2" in finding.message
    assert list(versions([_JAR], "4.1.3")) == []


def test_two_in_the_platforms_file_are_seen(tmp_path: Path) -> None:
    extra = tmp_path / "iceberg-spark-runtime-4.1_2.13-1.11.0.jar"
    extra.touch()
    settings = load_settings(REPOSITORY / "conf", {"LAKEHOUSE_HOME": str(tmp_path)})
    conf = {"spark.driver.extraClassPath": f"{tmp_path}/*", "spark.jars": "/elsewhere/" + extra.name}
    platform = settings.platform.model_copy(update={"conf": conf})
    findings = list(jar_files(settings.model_copy(update={"platform": platform})))
    assert [finding.state for finding in findings] == ["wrong", "wrong"], "no JARs of ours, and two of others"
    assert "lakehouse jars" in findings[0].remedy
    assert str(extra) in findings[1].message
