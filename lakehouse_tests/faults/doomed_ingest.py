"""An ingest in a process of its own, that is killed at a named point or around one of the catalog's transactions."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from multiprocessing.connection import Connection
from typing import Any

import pytest

from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.catalog.sql_catalog.sql_database import CatalogDatabase
from lakehouse.settings import CatalogSettings
from lakehouse_tests.proofs.audit.simulated import QUARANTINE, A, B, SimulatedStream

POINTS = ("stage.before", "stage.between", "seal.before", "seal.after", "publish.before", "publish.after")
TRANSACTIONS = ("before", "after")


@dataclass(frozen=True)
class Doom:
    """Where it ends.

    Args:
        point: a failpoint, or `before` or `after` a transaction of the catalog.
        number: of that transaction, from 1.
    """

    point: str
    number: int = 0


@dataclass(frozen=True)
class DoomedIngest:
    """What the process does: one ingest of all that the topic has.

    Args:
        ends: partition → the topic's end.
        ahead_ns: by how much its clock is ahead.
    """

    settings: CatalogSettings
    ends: Mapping[int, int]
    doom: Doom
    ahead_ns: int


def to_both(partition: int, offset: int) -> str:
    """Every third record goes to B."""
    return B if offset % 3 == 0 else A


def run(ingest: DoomedIngest, pipe: Connection) -> None:
    """The process; says `published`, or what refused it."""
    with clock_ahead(lambda: ingest.ahead_ns), _doomed(ingest.doom):
        stream = SimulatedStream(open_catalog(ingest.settings), ends=dict(ingest.ends), out=frozenset({QUARANTINE}))
        try:
            stream.ingest({}, to_both)
        except Exception as error:  # noqa: BLE001 - the test judges it by its name
            pipe.send(type(error).__name__)
        else:
            pipe.send("published")


@contextmanager
def _doomed(doom: Doom) -> Iterator[None]:
    if doom.point not in TRANSACTIONS:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LAKEHOUSE_FAILPOINTS", f"{doom.point}=kill")
            yield
        return
    numbers, swap = count(1), CatalogDatabase.swap

    def swap_and_die(database: CatalogDatabase, rows: Any) -> bool:
        last = next(numbers) == doom.number
        if last and doom.point == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        swapped = swap(database, rows)
        if last:
            os.kill(os.getpid(), signal.SIGKILL)
        return swapped

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CatalogDatabase, "swap", swap_and_die)
        yield


@contextmanager
def clock_ahead(ahead_ns: Callable[[], int]) -> Iterator[None]:
    """This process's clock, and that of its storage, are ahead by what `ahead_ns` gives."""
    time_ns, seconds = time.time_ns, time.time
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time_ns", lambda: time_ns() + ahead_ns())
        patch.setattr(time, "time", lambda: seconds() + ahead_ns() / 1e9)
        patch.setattr("lakehouse.protocol.catalog.clock.modified_ms", lambda *_: None)
        yield
