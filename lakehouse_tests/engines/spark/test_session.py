"""The same few lines work on classic Spark and on Connect, on both kinds of catalog."""

import gc
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from pyspark.errors.exceptions.connect import SparkConnectGrpcException
from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as RemoteSession

from lakehouse.engines.spark import (
    ConnectServer,
    ConnectServerFailed,
    DriverMismatch,
    SparkUnreachable,
    set_for,
    spark_session,
)
from lakehouse.settings import CatalogSettings, Platform, Settings
from lakehouse.settings.state import StateFolder
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn, free_port

pytestmark = pytest.mark.spark


@pytest.fixture(params=["classic", "connect"])
def session_on(request: pytest.FixtureRequest) -> SparkOn:
    if request.param == "classic":
        return request.getfixturevalue("spark_on")
    settings: Settings = request.getfixturevalue("connect_settings")
    return lambda catalog: spark_session(settings.model_copy(update={"catalog": catalog}), app_name="test")


def test_an_append_to_a_branch_is_read_by_version(lake: Lake, session_on: SparkOn) -> None:
    name = lake.create("t")
    with session_on(lake.settings) as session:
        session.sql("SELECT 1L AS n, 'one' AS s").writeTo(f"lake.{name}").append()
        session.sql(f"ALTER TABLE lake.{name} CREATE BRANCH branch_x")
        session.sql("SELECT 2L AS n, 'two' AS s").writeTo(f"lake.{name}.branch_branch_x").append()
        head = lake.load(name).refs()["branch_x"].snapshot_id
        staged = session.sql(f"SELECT n FROM lake.{name} VERSION AS OF {head}").collect()
        by_name = session.sql(f"SELECT n FROM lake.{name} VERSION AS OF 'branch_x'").collect()
        assert session.table(f"lake.{name}").count() == 1
    assert sorted(row.n for row in staged) == sorted(row.n for row in by_name) == [1, 2]
    assert lake.rows(name) == [1]


def test_a_session_sees_what_another_process_committed(lake: Lake, session_on: SparkOn) -> None:
    name = lake.create("t")
    with session_on(lake.settings) as session:
        assert session.table(f"lake.{name}").count() == 0
        lake.write("step", t=[1, 2, 3])
        assert session.table(f"lake.{name}").count() == 3


def test_arrow_batches_reach_python_workers(session_on: SparkOn, spark_settings: Settings) -> None:
    def double(batches: Iterator[object]) -> Iterator[object]:
        import pyarrow as pa

        for batch in batches:
            assert isinstance(batch, pa.RecordBatch)
            yield pa.RecordBatch.from_pydict({"x": [2 * value for value in batch["id"].to_pylist()]})

    with session_on(spark_settings.catalog) as session:
        rows = session.range(1000, numPartitions=2).mapInArrow(double, "x bigint").collect()  # pyright: ignore[reportArgumentType]
    assert sorted(row.x for row in rows) == list(range(0, 2000, 2))


def test_sessions_share_neither_catalog_nor_views_nor_settings(
    session_on: SparkOn, sql_lake: Lake, spark_settings: Settings
) -> None:
    name = sql_lake.create("t")
    with session_on(sql_lake.settings) as first, session_on(spark_settings.catalog) as two:
        first.range(1).createOrReplaceTempView("mine")
        first.conf.set("spark.sql.shuffle.partitions", "17")
        assert first.catalog.tableExists(f"lake.{name}")
        assert not two.catalog.tableExists(f"lake.{name}")
        assert not two.catalog.tableExists("mine")
        assert two.conf.get("spark.sql.shuffle.partitions") == "2"


def test_time_is_utc_everywhere(session_on: SparkOn, spark_settings: Settings) -> None:
    with session_on(spark_settings.catalog) as session:
        text = session.sql("SELECT CAST(TIMESTAMP '2013-01-01T05:00:00Z' AS STRING) AS t").collect()[0].t
    assert text == "2013-01-01 05:00:00"


def test_a_second_platform_in_one_process_is_refused(spark: SparkSession, spark_settings: Settings) -> None:
    platform = spark_settings.platform.model_copy(update={"master": "local[1]"})
    other = spark_settings.model_copy(update={"platform": platform})
    with pytest.raises(DriverMismatch, match="another platform"), spark_session(other, app_name="never"):
        pytest.fail("it silently ran with the first platform's settings")


def test_an_absent_server_is_reported_at_once(connect_settings: Settings) -> None:
    platform = connect_settings.platform.model_copy(update={"remote": f"sc://127.0.0.1:{free_port()}"})
    absent = connect_settings.model_copy(update={"platform": platform})
    with pytest.raises(SparkUnreachable, match="lakehouse up"), spark_session(absent, app_name="never"):
        pytest.fail("a session was opened")


def test_a_running_server_is_not_started_twice(connect_settings: Settings) -> None:
    server = ConnectServer(connect_settings)
    pid = server.pid
    assert pid is not None
    assert server.start() is False
    assert server.pid == pid


def test_the_collector_finalizes_no_closed_session(connect_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """PySpark's finalizer waits for threads that may wait for the statement in which the collector came."""
    finalized: list[object] = []
    monkeypatch.setattr(RemoteSession, "__del__", finalized.append)
    for _ in range(3):  # PySpark itself remembers the newest
        with spark_session(connect_settings, app_name="test") as session:
            assert session.range(3).count() == 3
    del session
    gc.collect()
    assert not finalized


@pytest.mark.filterwarnings("ignore:The 'warn' method is deprecated")  # PySpark's, when it cannot say goodbye
def test_the_server_answers_only_to_those_with_its_key(connect_settings: Settings, tmp_path: Path) -> None:
    stranger = connect_settings.model_copy(update={"state": StateFolder(tmp_path)})
    with pytest.raises(SparkConnectGrpcException, match="UNAUTHENTICATED"), spark_session(stranger, app_name="never"):
        pytest.fail("a session was opened")


def test_a_server_elsewhere_is_not_ours_to_start(connect_settings: Settings) -> None:
    for platform in (
        connect_settings.platform.model_copy(update={"remote": "sc://spark.example:15002"}),
        connect_settings.platform.model_copy(update={"master": None}),
        Platform(name="local", mode="classic", master="local[1]"),
    ):
        with pytest.raises(ConnectServerFailed, match="could be started here"):
            ConnectServer(connect_settings.model_copy(update={"platform": platform}))


def test_a_secret_is_in_no_process_arguments(
    connect_settings: Settings, spark: SparkSession, spark_settings: Settings, session_on: SparkOn
) -> None:
    catalog = CatalogSettings(
        type="rest", uri="http://127.0.0.1:1", warehouse="w", properties={"credential": "lake:hush-hush-secret"}
    )
    with session_on(catalog) as session:
        assert session.conf.get("spark.sql.catalog.lake.credential") == "lake:hush-hush-secret"
        arguments = [" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
    assert not [text for text in arguments if "hush-hush-secret" in text]
    folder = spark_settings.state.root / "tmp" / "spark"
    assert not list(folder.glob("*.properties"))


def test_what_one_session_has_compiled_serves_the_next(spark_settings: Settings, spark: SparkSession) -> None:
    """Each step has a session of its own; each compiled the same code anew, and the JVM compiled that again."""
    compilations = spark._jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()  # pyright: ignore
    compiled = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}

    def compile_in_new_session() -> int:
        before = compilations.getCount()
        with spark_session(spark_settings, app_name="test") as session, set_for(session, compiled):
            session.range(100).selectExpr("id % 7 AS k", "id * 31 + 5 AS n").groupBy("k").sum("n").collect()
        return compilations.getCount() - before

    assert compile_in_new_session() > 0
    assert compile_in_new_session() == 0
