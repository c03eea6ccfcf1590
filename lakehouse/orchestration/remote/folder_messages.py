"""Pipes' messages in a file of a job's folder: read as they come, from the first on, by whoever has found the job.

Dagster's own reader of files empties the file first and deletes it afterwards: what a driver reported to a Dagster that
was killed would be lost.
"""

import json
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
from dagster._core.pipes.context import PipesMessageHandler
from dagster._utils import tail_file
from dagster_pipes import PipesDefaultMessageWriter, PipesParams
from typing_extensions import override


class FolderMessageReader(dg.PipesMessageReader):
    """Reads what `PipesDefaultMessageWriter` writes, and keeps it."""

    def __init__(self, path: Path) -> None:
        """Name the file, which has to be there."""
        self._path = path

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
            yield {PipesDefaultMessageWriter.FILE_PATH_KEY: str(self._path)}
        finally:
            ended.set()
            thread.join()

    def _read(self, handler: PipesMessageHandler, ended: threading.Event) -> None:
        part = ""
        try:
            for text in tail_file(str(self._path), ended.is_set):
                part += text
                if part.endswith("\n"):  # a killed driver may have left half a line
                    handler.handle_message(json.loads(part))
                    part = ""
        except Exception:
            handler.report_pipes_framework_exception(type(self).__name__, sys.exc_info())
            raise

    @override
    def no_messages_debug_text(self) -> str:
        return f"Messages are read from {self._path}."
