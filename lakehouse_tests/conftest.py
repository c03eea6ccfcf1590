"""Fixtures live in `lakehouse_tests/fixtures`, one module per real part."""

import os
import re
import signal
import sqlite3
from functools import cache
from pathlib import Path
from types import ModuleType

import alembic.util
import pytest
from sqlalchemy import Engine, event

# A shell starts background jobs with SIGINT ignored, and every process that we start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A JVM of a test is gone before the optimizing compiler has earned what it costs, or the check of classes that are
# locked by their JARs' digests: half of what a broker uses. Without that compiler Java keeps so little room for code
# that it throws some away, and compiles it again.
os.environ.setdefault(
    "JDK_JAVA_OPTIONS",
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=192m"
    " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
)


@event.listens_for(Engine, "connect")
def _do_not_wait_for_the_disk(connection: object, _: object) -> None:
    """Tests kill processes, never the machine: what SQLite handed to the system is safe, on the disk or not."""
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA synchronous=OFF")


# For the same reason. Tests of what a power cut takes log the calls.
os.fsync = lambda _: None

_load_python_file = alembic.util.load_python_file


@cache
def _migration(folder: str, name: str) -> ModuleType:
    return _load_python_file(folder, name)


def _load_migrations_once(folder: str, name: str) -> ModuleType:
    """Alembic would load every migration of Dagster's storage anew for each instance; its `env.py` is to be run."""
    return (_load_python_file if name == "env.py" else _migration)(folder, name)


alembic.util.load_python_file = _load_migrations_once

pytest_plugins = [
    "lakehouse_tests.fixtures.broker",
    "lakehouse_tests.fixtures.rest_catalog",
    "lakehouse_tests.fixtures.lakes",
    "lakehouse_tests.fixtures.spark",
    "lakehouse_tests.fixtures.postgres",
    "lakehouse_tests.fixtures.schema_registry",
    "lakehouse_tests.fixtures.glue",
    "lakehouse_tests.fixtures.glue_catalog",
    "lakehouse_tests.fixtures.lent_store",
    "lakehouse_tests.fixtures.debezium",
    "lakehouse_tests.fixtures.store_emulators",
    "lakehouse_tests.fixtures.seaweedfs",
    "lakehouse_tests.order",
    "lakehouse_tests.timings.plugin",
]


# Modules whose tests take seconds together, though none needs a server: `make fast` leaves them out.
SECONDS = frozenset((Path(__file__).parent / "seconds.txt").read_text(encoding="utf-8").split())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every process calls a test by the same name, or pytest-xdist runs none of them."""
    for item in items:
        if str(item.path.relative_to(Path(__file__).parent)) in SECONDS:
            item.add_marker("seconds")
        if re.search(r" at 0x[0-9a-f]+", item.nodeid):
            raise pytest.UsageError(f"The name of {item.nodeid} has an address in it: give its parameters ids=.")
