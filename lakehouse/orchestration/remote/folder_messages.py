"""Pipes' messages in a job's folder: read as they come, from the first on, by whoever has found the job.

Dagster's own readers delete what they have read, or begin at an empty place: what a driver reported to a Dagster that
was killed would be lost.
"""

import json
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager

import dagster as dg
from dagster._core.pipes.context import PipesMessageHandler
from dagster_pipes import PipesParams
from typing_extensions import override

from lakehouse.engines.submit.job_folder import JobFolder

_TRIES = 60  # in a row: a store that is away for longer is an error


class FolderMessageReader(dg.PipesMessageReader):
    """Reads what `FolderMessageWriter` writes, and keeps it."""

    def __init__(self, folder: JobFolder, interval: float) -> None:
        """Name the folder, and the seconds between two looks."""
        self._folder = folder
        self._interval = interval

    @property
    @override
    def expected_writer_count(self) -> int:
        """One driver writes; Dagster's own property warns that it may change."""
        return 1

    @contextmanager
    @override
    def read_messages(self, handler: PipesMessageHandler) -> Generator[PipesParams]:
        """Read on another thread until the block is left, and then what is left."""
        ended = threading.Event()
        thread = threading.Thread(target=self._read, args=(handler, ended), name="step-messages", daemon=True)
        thread.start()
        try:
            yield {}
        finally:
            ended.set()
            thread.join()

    def _read(self, handler: PipesMessageHandler, ended: threading.Event) -> None:
        index, failures = 1, 0
        try:
            while True:
                last_look = ended.is_set()
                try:
                    lines = self._folder.chunk(index)
                    failures = 0
                except OSError:
                    failures += 1
                    if failures == _TRIES or last_look:
                        raise
                    lines = None
                if lines is not None:
                    for line in lines:
                        handler.handle_message(json.loads(line))
                    index += 1
                elif last_look:
                    return
                else:
                    ended.wait(self._interval)
        except Exception:
            handler.report_pipes_framework_exception(type(self).__name__, sys.exc_info())
            raise

    @override
    def no_messages_debug_text(self) -> str:
        return f"Messages are read from {self._folder.location}/messages."
