"""The process from which Spark forks its Python workers, with what each of them would otherwise do for itself.

Spark lets workers import PySpark from the archives that it ships. So each worker compiles all of it at its start, and,
as Spark drops the import caches before each task, reads the archives' directories anew for every package in them: two
seconds of CPU per worker and 0.1 s per task. After each task, the collector looks through all that was imported.

Here the installed PySpark, which the archives are a part of, takes their place, imports happen once before the fork,
and are put out of the collector's sight. Nothing of ours is imported: a worker is to run the code that is there when it
is forked.

Spark never ends the process, and some sessions of Spark Connect have one each. So one that has had nothing to do for a
while ends by itself. Spark finds it gone when it needs the next worker, and starts another.
"""

import gc
import importlib
import os
import select
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path

# What tasks of ours use. None of these starts a thread when it is imported, which a fork would lose.
_IMPORTED = (
    "confluent_kafka.admin",
    "msgspec",
    "numpy",
    "pandas",
    "pandera.pyspark",
    "pyarrow.compute",
    "pyarrow.parquet",
    "pyiceberg.catalog",
    "pyiceberg.io.pyarrow",
    "pyiceberg.table.metadata",
    "pyspark.sql.pandas.types",
    "pyspark.worker",
    "rich.progress",
    "sqlalchemy",
    "structlog",
    "tenacity",
    "yaml",
)
# Spark keeps workers for a minute after their last task. By then it has let go of all of them, also of those that died:
# to one that it still counted on it would speak through us, and fail.
IDLE_SECONDS = 120.0


def prepare() -> None:
    """Do once what each worker would do."""
    for archive in [entry for entry in sys.path if _is_part_of_installed_pyspark(Path(entry))]:
        sys.path.remove(archive)
        sys.path_importer_cache.pop(archive, None)
    for name in _IMPORTED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


def serve(idle_seconds: float = IDLE_SECONDS) -> None:
    """Do what Spark's own daemon does, until nobody has needed it for so long."""
    daemon = importlib.import_module("pyspark.daemon")
    vars(daemon)["select"] = IdleEnd(idle_seconds)
    daemon.manager()


class IdleEnd:
    """What stands for the module `select` in Spark's daemon: the one place of its loop where nobody is half served.

    Who has connected and was not accepted yet is told so by the system when the socket is closed, and Spark then starts
    another daemon; who was accepted has a worker, and is waited for.
    """

    error = OSError

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._used = time.monotonic()

    def select(
        self,
        readers: Sequence[int | socket.socket],
        writers: Sequence[int],
        errors: Sequence[int],
        timeout: float,
    ) -> tuple[list[int | socket.socket], list[int], list[int]]:
        """Wait as the system's own does.

        Raises:
            SystemExit: there was neither a request nor a worker for so long.
        """
        ready = select.select(readers, writers, errors, timeout)
        if ready[0] or _has_workers():
            self._used = time.monotonic()
        elif time.monotonic() - self._used >= self._seconds:
            for reader in readers:
                if isinstance(reader, socket.socket):
                    reader.close()
            raise SystemExit(0)
        return ready


def _has_workers() -> bool:
    """Whether a worker lives; dead ones are buried by the system."""
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


def _is_part_of_installed_pyspark(entry: Path) -> bool:
    """Whether it is an archive inside a PySpark that can be imported itself; another Spark's stays."""
    if entry.suffix not in {".zip", ".jar"}:
        return False
    return any(folder.name == "pyspark" and str(folder.parent) in sys.path for folder in entry.parents)


if __name__ == "__main__":
    prepare()
    serve()
