"""Python workers start from the installed packages, imported once, and a small task costs little; nothing is left."""

import subprocess
import sys
from collections.abc import Iterator

import pyarrow as pa
import pytest

from lakehouse.engines.spark import spark_session
from lakehouse.settings import Settings
from lakehouse_tests.fixtures.spark import SparkOn


@pytest.mark.spark
@pytest.mark.parametrize("mode", ["classic", "connect"])
def test_workers_import_nothing_from_archives(request: pytest.FixtureRequest, mode: str) -> None:
    def look_around(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import gc
        import importlib
        import os
        import sys
        import time

        import pyspark

        for _ in batches:
            pass
        began = time.process_time()
        importlib.invalidate_caches()  # what Spark does before each task
        gc.collect()  # and after it
        seconds = time.process_time() - began
        columns = {
            "pyspark": [str(pyspark.__file__)],
            "archives": [" ".join(entry for entry in sys.path_importer_cache if entry.endswith(".jar"))],
            "frozen": [gc.get_freeze_count()],
            "daemon": [os.getppid()],
            "seconds": [seconds],
        }
        yield pa.RecordBatch.from_pydict(columns)

    settings: Settings = request.getfixturevalue("spark_settings" if mode == "classic" else "connect_settings")
    on: SparkOn = request.getfixturevalue("spark_on")
    schema = "pyspark string, archives string, frozen long, daemon long, seconds double"
    opened = on(settings.catalog) if mode == "classic" else spark_session(settings, app_name="test")
    with opened as session:
        rows = session.range(4, numPartitions=4).mapInArrow(look_around, schema).collect()
    assert len(rows) == 4
    for row in rows:
        assert ".zip" not in row.pyspark
        assert row.archives == ""
        assert row.frozen > 10_000
        assert row.seconds < 0.1
    assert len({row.daemon for row in rows}) == 1


# In a process of its own: it asks for its children, and pytest has some.
IDLE = """
import os, select, signal, socket, subprocess, sys, time
from lakehouse.engines import worker_daemon

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
listening = socket.socket()
listening.bind(("127.0.0.1", 0))
listening.listen()
spark, _open = os.pipe()  # what is Spark's end of stdin for a daemon
idle = worker_daemon.IdleEnd(0)


def look():
    try:
        return idle.select([spark, listening], [], [], 0)[0]
    except SystemExit:
        return "ended"
"""


def printed(program: str) -> list[str]:
    """What a daemon with nothing to do for 0 s says of its looks."""
    done = subprocess.run(
        [sys.executable, "-c", IDLE + program], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.splitlines()


def test_a_daemon_that_nobody_needs_ends() -> None:
    assert printed("print(look())") == ["ended"]


def test_a_daemon_with_a_worker_or_a_request_stays() -> None:
    program = """
worker = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
print(look())
client = socket.create_connection(listening.getsockname())
print(look() == [listening])
listening.accept()
print(look())
worker.stdin.close()
while worker_daemon._has_workers():
    time.sleep(0.01)
print(look())
"""
    assert printed(program) == ["[]", "True", "[]", "ended"]


def test_who_asks_while_the_daemon_ends_is_told_so() -> None:
    """Spark takes a connection that is reset for a daemon that died, and starts another. An orderly end fails it."""
    program = """
asked, clients = select.select, []


def meanwhile(*arguments):
    ready = asked(*arguments)
    clients.append(socket.create_connection(listening.getsockname()))
    return ready


select.select = meanwhile
print(look())
try:
    print(clients[0].recv(4))
except ConnectionResetError:
    print("reset")
try:
    socket.create_connection(listening_at)
except ConnectionRefusedError:
    print("refused")
"""
    assert printed("listening_at = listening.getsockname()\n" + program) == ["ended", "reset", "refused"]


def test_spark_s_own_daemon_ends_so() -> None:
    program = "from lakehouse.engines.worker_daemon import serve; serve(idle_seconds=0)"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", program], stdin=pipe, stdout=pipe, stderr=pipe) as daemon:
        daemon.wait(60)  # its input stays open: Spark lives
        assert daemon.stdout is not None
        assert daemon.stderr is not None
        assert len(daemon.stdout.read()) == 4, "it has told its port"
        assert daemon.stderr.read() == b""
