"""PySpark's questions about the JVM's names are asked once."""

import pytest
from py4j.clientserver import JavaClient
from py4j.protocol import REFLECTION_COMMAND_NAME, Py4JError
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

pytestmark = pytest.mark.spark


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the JVM is asked about its names."""
    questions: list[str] = []
    send = JavaClient.send_command

    def noted(client: JavaClient, command: str, *arguments: object, **options: object) -> object:
        if command.startswith(REFLECTION_COMMAND_NAME):
            questions.append(command)
        return send(client, command, *arguments, **options)

    monkeypatch.setattr(JavaClient, "send_command", noted)
    return questions


def test_a_function_is_looked_up_once(spark: SparkSession, asked: list[str]) -> None:
    columns = [sql.upper(sql.lit("a")), sql.coalesce(sql.col("b"), sql.lit(1))]
    asked.clear()
    columns += [sql.upper(sql.lit("b")), sql.coalesce(sql.col("c"), sql.lit(2))]
    assert asked == []
    assert spark.range(1).select(columns[0], columns[2]).collect() == [("A", "B")]


def test_a_name_that_is_no_class_is_asked_for_again(spark: SparkSession, asked: list[str]) -> None:
    jvm = spark._jvm
    for _ in range(2):
        with pytest.raises(Py4JError, match="does not exist"):
            jvm.org.apache.spark.sql.functions.no_such_function  # noqa: B018
    assert len([question for question in asked if "no_such_function" in question]) == 2
