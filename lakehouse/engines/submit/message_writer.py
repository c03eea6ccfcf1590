"""Pipes' messages of a job, put into its folder a few times a second: each in the order in which it was written."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager

import structlog
from dagster_pipes import PipesMessage, PipesMessageWriter, PipesMessageWriterChannel, PipesParams
from typing_extensions import override

from lakehouse.engines.submit.job_folder import JobFolder

_log = structlog.get_logger(__name__)


class FolderChannel(PipesMessageWriterChannel):
    """Collects messages, and sends what it has every so often and at the end."""

    def __init__(self, folder: JobFolder, interval: float) -> None:
        """Name the folder, and the seconds between two sendings."""
        self._folder = folder
        self._interval = interval
        self._lines: list[str] = []
        self._sent = 0
        self._lock = threading.Lock()

    @override
    def write_message(self, message: PipesMessage) -> None:
        with self._lock:
            self._lines.append(json.dumps(message))

    def send(self) -> None:
        """Send what has come since; what cannot be sent stays.

        Raises:
            OSError: the folder cannot be written.
        """
        with self._lock:
            lines = list(self._lines)
        if lines:
            self._folder.put_chunk(self._sent + 1, lines)
            with self._lock:
                del self._lines[: len(lines)]
            self._sent += 1

    @contextmanager
    def sending(self) -> Generator[None]:
        """Send on another thread until the block is left, and then the rest.

        Raises:
            OSError: the rest cannot be written.
        """
        ended = threading.Event()

        def send() -> None:
            while not ended.wait(self._interval):
                try:
                    self.send()
                except OSError as error:  # a store that is away for a while: the next time, or at the end
                    _log.warning("messages_wait", folder=self._folder.location, reason=str(error))

        thread = threading.Thread(target=send, name="step-messages", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            self.send()


class FolderMessageWriter(PipesMessageWriter[FolderChannel]):
    """Writes what `FolderMessageReader` reads."""

    def __init__(self, folder: JobFolder, interval: float = 0.5) -> None:
        """Name the folder, and the seconds between two sendings."""
        self._folder = folder
        self._interval = interval

    @contextmanager
    @override
    def open(self, params: PipesParams) -> Generator[FolderChannel]:
        channel = FolderChannel(self._folder, self._interval)
        with channel.sending():
            yield channel
