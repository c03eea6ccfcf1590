"""Things that are done again and again, each in a thread of its own, next to one another."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

_PATIENCE = 300


@dataclass
class Worker:
    """One of them.

    Attributes:
        name: for people.
        do: what is done.
        pause: seconds in between.
        seconds: that each time took.
        error: what it failed by.
    """

    name: str
    do: Callable[[], object]
    pause: float
    seconds: list[float] = field(default_factory=list[float])
    error: BaseException | None = None

    def run(self, stop: threading.Event) -> None:
        """Do it until all are told to stop; if it fails, they are."""
        try:
            while not stop.is_set():
                began = time.monotonic()
                self.do()
                self.seconds.append(time.monotonic() - began)
                stop.wait(self.pause)
        except BaseException as error:  # noqa: BLE001 - `work` raises it
            self.error = error
            stop.set()

    def __str__(self) -> str:
        times = len(self.seconds)
        mean = sum(self.seconds) / max(times, 1)
        return f"{self.name}: {times} times, {mean:.1f} s each, at most {max(self.seconds, default=0):.1f} s"


def work(workers: Sequence[Worker], enough: Callable[[], bool]) -> None:
    """Let all of them work until it is enough, and wait until they have stopped.

    Raises:
        BaseException: what one of them failed by.
    """
    stop = threading.Event()
    threads = [threading.Thread(target=worker.run, args=(stop,), name=worker.name, daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    try:
        while not stop.is_set() and not enough():
            stop.wait(0.5)
    finally:
        stop.set()
        for thread in threads:
            thread.join(_PATIENCE)
    for worker in workers:
        if worker.error is not None:
            raise worker.error
    assert not any(thread.is_alive() for thread in threads)
