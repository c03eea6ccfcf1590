"""Lets a signal end a Spark job within seconds.

A signal raises an exception in the middle of a blocked call to the JVM; on its way out, PySpark makes one more call on
the same, still busy, connection, and waits there until the job is done. So the job has to be cancelled from elsewhere.
Which handler is installed at that moment is not ours to say (Dagster exchanges them for each stretch of user code), so
we listen at a lower place: the interpreter writes each signal's number to a file descriptor, before any handler runs.
"""

import os
import signal
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@contextmanager
def cancelled_by_signals(cancel: Callable[[], object]) -> Generator[None]:
    """Call `cancel` on another thread when SIGTERM, SIGINT or SIGHUP arrives, besides whatever the handlers do.

    A SIGTERM that nobody handles becomes `SystemExit`, so that `finally` blocks run. Outside the main thread, where
    Python delivers no signals, this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    former = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    watcher = threading.Thread(target=_watch, args=(receiver, cancel, former), name="spark-interrupts", daemon=True)
    watcher.start()
    unhandled = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if unhandled:
        signal.signal(signal.SIGTERM, _exit)
    try:
        yield
    finally:
        if unhandled and signal.getsignal(signal.SIGTERM) is _exit:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.set_wakeup_fd(former)
        sender.close()  # the watcher reads the end and stops
        watcher.join(timeout=1)


@contextmanager
def interrupts_unmasked() -> Generator[None]:
    """Raise what the signal handler raised, where PySpark's own way out of the interrupted call hid it behind an error.

    Otherwise a run that was terminated would be reported as one that failed.
    """
    try:
        yield
    except Exception as error:
        cause = error.__context__
        while cause is not None and isinstance(cause, Exception):
            cause = cause.__context__
        if cause is None:
            raise
        raise cause from None


def _watch(receiver: socket.socket, cancel: Callable[[], object], former: int) -> None:
    with receiver:
        while signals := receiver.recv(64):
            if former >= 0:
                with suppress(OSError):  # who listened before us (an event loop) may be gone, or have a full buffer
                    os.write(former, signals)
            if any(signal_number in ENDING for signal_number in signals):
                cancel()


def _exit(signal_number: int, _: FrameType | None) -> NoReturn:
    raise SystemExit(128 + signal_number)
