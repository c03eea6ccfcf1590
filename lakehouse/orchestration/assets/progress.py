"""What a step says while it works, and that it is still at work where it has said nothing for a while."""

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

SILENCE_SECONDS = 30.0


@contextmanager
def step_progress(log: Callable[[str], None], *, silence: float = SILENCE_SECONDS) -> Generator[Callable[[str], None]]:
    """Repeat what a step said last, with the time since it began, whenever it has been silent.

    Args:
        log: takes one line; called from another thread as well.
        silence: seconds without a line after which one is added.

    Yields:
        What the step calls with each of its lines.
    """
    began, ended, lines = time.monotonic(), threading.Event(), list[str]()

    def inform(line: str) -> None:
        lines.append(line)
        log(line)

    def repeat() -> None:
        known = -1
        while not ended.wait(silence):
            if known == len(lines):
                log(f"still at work after {time.monotonic() - began:.0f} s{': ' + lines[-1] if lines else ''}")
            known = len(lines)

    thread = threading.Thread(target=repeat, name="step-progress", daemon=True)
    thread.start()
    try:
        yield inform
    finally:
        ended.set()
        thread.join()
