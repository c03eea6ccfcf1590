"""Messages of a job are read from the first on, whoever has started it, and half a chunk of a killed one is none."""

import json
from pathlib import Path
from typing import Any, cast

import pytest
from dagster._core.pipes.context import PipesMessageHandler
from pyiceberg.io import load_file_io

from lakehouse.engines.submit.job_folder import JobFolder
from lakehouse.engines.submit.remote_jobs import LaunchToken
from lakehouse.orchestration.remote.folder_messages import FolderMessageReader

LINES = [{"method": "opened"}, {"method": "log", "params": {"message": "3 birds\n"}}, {"method": "closed"}]


class _Handler:
    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.errors: list[str] = []

    def handle_message(self, message: Any) -> None:
        """Keep it."""
        self.messages.append(message)

    def report_pipes_framework_exception(self, origin: str, _: object) -> None:
        """Keep where it came from."""
        self.errors.append(origin)


def read(folder: JobFolder) -> _Handler:
    handler = _Handler()
    with FolderMessageReader(folder, 0.01).read_messages(cast("PipesMessageHandler", handler)) as params:
        assert params == {}
    return handler


@pytest.fixture
def folder(tmp_path: Path) -> JobFolder:
    location = str(tmp_path / "ingest_birds" / "run-1" / "1")
    folder = JobFolder(LaunchToken("ingest_birds", "run-1", 1), location, load_file_io({}, location))
    folder.put_chunk(1, [json.dumps(line) for line in LINES[:2]])
    folder.put_chunk(2, [json.dumps(LINES[2])])
    folder.write("messages/3.jsonl", b'{"method": "clo')
    return folder


def test_each_reader_gets_all_messages_and_they_stay(folder: JobFolder) -> None:
    for _ in range(2):
        handler = read(folder)
        assert handler.messages == LINES
        assert handler.errors == []


def test_a_store_that_is_away_for_a_while_is_asked_again(folder: JobFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    real, failures = JobFolder.chunk, iter([True, True, *[False] * 9])
    answered: list[int] = []

    def chunk(self: JobFolder, index: int) -> list[str] | None:
        if next(failures):
            raise OSError("slow down")
        answered.append(index)
        return real(self, index)

    monkeypatch.setattr(JobFolder, "chunk", chunk)
    handler = _Handler()
    with FolderMessageReader(folder, 0.001).read_messages(cast("PipesMessageHandler", handler)):
        while 3 not in answered:
            pass
    assert handler.messages == LINES


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_one_that_stays_away_is_an_error(folder: JobFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def chunk(*_: object) -> None:
        raise OSError("access denied")

    monkeypatch.setattr(JobFolder, "chunk", chunk)
    assert read(folder).errors == ["FolderMessageReader"]
