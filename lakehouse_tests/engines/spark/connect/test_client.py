"""A Connect server that goes away: who is at work on it hears of it at once, in words, and is given another try."""

import os
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID

import dagster as dg
import grpc
import pytest
from pyspark.sql.connect.client.core import DefaultChannelBuilder
from pyspark.sql.connect.client.retries import DefaultPolicy
from typer.testing import CliRunner

from lakehouse.build import build_defs
from lakehouse.cli import app
from lakehouse.cli.reports.failure import reason
from lakehouse.engines.spark import ConnectServer, Remote, SparkUnreachable, spark_session
from lakehouse.engines.spark.connect.client import _with_parameter
from lakehouse.engines.spark.connect.client_behaviour import WhileItAnswers
from lakehouse.orchestration.automation.run_history import run_news
from lakehouse.orchestration.checks.spark_server import NAME, server_key
from lakehouse.orchestration.resources import lost_spark, repeated_when_spark_is_lost
from lakehouse.protocol.journal.position import JournalPosition
from lakehouse.settings import Platform, Settings
from lakehouse_tests.fixtures.spark import connect_platform, free_port, settings_of

AT_ONCE = 15  # seconds; PySpark would go on for minutes


@pytest.fixture
def absent(tmp_path: Path, jars: Path) -> Settings:
    """Settings with the address of a server that nobody has started."""
    platform = Platform(name="connect", mode="connect", master="local[1]", remote=f"sc://127.0.0.1:{free_port()}")
    return settings_of(tmp_path / "state", jars, platform)


def test_the_remedy_names_a_command_that_works(absent: Settings) -> None:
    with pytest.raises(SparkUnreachable) as caught:
        Remote.of(absent).require()
    commands = re.findall(r"`lakehouse ([^`]+)`", caught.value.remedy)
    assert commands == ["dev", "up --connect"]
    for command in commands:
        assert CliRunner().invoke(app, [*command.split(), "--help"]).exit_code == 0


def test_a_server_that_takes_connections_and_says_nothing_does_not_speak() -> None:
    with socket.socket() as stopped:  # whose connections the system takes
        stopped.bind(("127.0.0.1", 0))
        stopped.listen()
        remote = Remote("127.0.0.1", stopped.getsockname()[1], "")
        assert remote.answers()
        assert not remote.speaks(timeout=0.5)
    server = grpc.server(ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    assert Remote("127.0.0.1", port, "").speaks(timeout=AT_ONCE)
    server.stop(None).wait()


def test_the_check_fails_where_nobody_answers(absent: Settings) -> None:
    defs = build_defs(absent)
    assert server_key() not in defs.resolve_asset_graph().materializable_asset_keys
    job = defs.resolve_job_def("prove")
    chosen = job.get_subset(asset_check_selection={dg.AssetCheckKey(server_key(), NAME)})
    with dg.DagsterInstance.ephemeral() as instance:
        result = chosen.execute_in_process(instance=instance, run_config={"loggers": {"console": {}}})
    (evaluation,) = result.get_asset_check_evaluations()
    assert not evaluation.passed
    assert "lakehouse up --connect" in (evaluation.description or "")


def test_pyspark_asks_again_only_while_somebody_listens(absent: Settings) -> None:
    remote = Remote.of(absent)
    with grpc.insecure_channel(f"{remote.host}:{remote.port}") as channel, pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary("/any")(b"", timeout=30)
    assert DefaultPolicy().can_retry(caught.value)
    assert WhileItAnswers(lambda: True).can_retry(caught.value)
    assert not WhileItAnswers(remote.answers).can_retry(caught.value)


@pytest.mark.parametrize("address", ["sc://h:1", "sc://h:1/", "sc://h:1/;token=t", "sc://h:1/;token=t;"])
def test_an_address_takes_one_more_parameter(address: str) -> None:
    builder = DefaultChannelBuilder(_with_parameter(address, "session_id", str(UUID(int=4 << 76 | 8 << 60))))
    assert builder.session_id == "00000000-0000-4000-8000-000000000000"
    assert builder.token == ("t" if "token" in address else None)


def _materialized(instance: dg.DagsterInstance, losses: int) -> dg.ExecuteInProcessResult:
    """A run of an asset under which Spark goes away so often."""
    lost = iter(range(losses))

    @repeated_when_spark_is_lost()
    def step() -> None:
        if next(lost, None) is not None:
            raise SparkUnreachable("Spark went away.", remedy="start it.")

    @dg.asset
    def nests() -> dg.MaterializeResult[Any]:
        step()
        return dg.MaterializeResult()

    return dg.materialize([nests], instance=instance, raise_on_error=False)


def test_a_step_that_lost_spark_is_made_again_in_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lost_spark, "WAIT_SECONDS", 0)
    with dg.DagsterInstance.ephemeral() as instance:
        result = _materialized(instance, losses=2)
    assert result.success
    kinds = [event.event_type for event in result.all_events]
    assert kinds.count(dg.DagsterEventType.STEP_RESTARTED) == 2


def test_after_the_last_try_the_run_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lost_spark, "WAIT_SECONDS", 0)
    with dg.DagsterInstance.ephemeral() as instance:
        result = _materialized(instance, losses=100)
        news = run_news(instance, JournalPosition(), lambda events: set())
    assert not result.success
    failure = result.failure_data_for_node("nests")
    assert failure is not None
    assert reason(failure) == "Spark went away. Remedy: start it."
    (refusal,) = [event for event in news.events if event.kind == "refusal"]
    assert (refusal.outcome, refusal.details["error"]) == ("refused", "SparkUnreachable")


@pytest.fixture
def own_settings(tmp_path: Path, jars: Path) -> Iterator[Settings]:
    """Settings of a running server that nobody else uses."""
    settings = settings_of(tmp_path / "state", jars, connect_platform(free_port()))
    server = ConnectServer(settings)
    server.start()
    yield settings
    server.stop()


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.kill
@pytest.mark.filterwarnings("ignore:The 'warn' method is deprecated")  # PySpark's, when it cannot say goodbye
@pytest.mark.filterwarnings("ignore:.RETRIES_EXCEEDED")
def test_work_under_which_the_server_dies_fails_at_once(own_settings: Settings, tmp_path: Path) -> None:
    server = ConnectServer(own_settings)
    begun, pid = str(tmp_path / "begun"), server.pid
    assert pid is not None

    def endless(batches: Iterator[Any]) -> Iterator[Any]:
        import pathlib
        import time

        pathlib.Path(begun).touch()
        time.sleep(600)
        yield from batches

    killed: list[float] = []

    def kill() -> None:
        while not Path(begun).exists():
            time.sleep(0.05)
        os.kill(pid, signal.SIGKILL)
        killed.append(time.monotonic())

    threading.Thread(target=kill, daemon=True).start()
    with (
        pytest.raises(SparkUnreachable, match=r"went away under this session.*lakehouse up --connect"),
        spark_session(own_settings, app_name="lost") as session,
    ):
        session.range(1, numPartitions=1).mapInArrow(endless, "id long").collect()
    assert time.monotonic() - killed[0] < AT_ONCE
    while server.running():  # its memory is given back first
        assert time.monotonic() - killed[0] < AT_ONCE
        time.sleep(0.05)
    with pytest.raises(SparkUnreachable), spark_session(own_settings, app_name="never"):
        pytest.fail("nobody answers there")
    server.start()
    with spark_session(own_settings, app_name="again") as session:
        assert session.range(3).count() == 3
