"""Messages arrive in their order, while the step is at work, and a store that is away for a while loses none."""

import json
import time
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.io import load_file_io
from structlog.testing import capture_logs

from lakehouse.engines.submit.job_folder import JobFolder
from lakehouse.engines.submit.message_writer import FolderMessageWriter
from lakehouse.engines.submit.remote_jobs import LaunchToken


def message(number: int) -> Any:
    return {"__dagster_pipes_version": "0.1", "method": "log", "params": {"message": f"bird {number}"}}


def numbers(folder: JobFolder) -> list[int]:
    return [int(json.loads(line)["params"]["message"].split()[1]) for line in folder.messages()]


@pytest.fixture
def folder(tmp_path: Path) -> JobFolder:
    location = str(tmp_path / "ingest_birds" / "run-1" / "1")
    return JobFolder(LaunchToken("ingest_birds", "run-1", 1), location, load_file_io({}, location))


def test_messages_come_while_the_step_is_at_work(folder: JobFolder) -> None:
    with FolderMessageWriter(folder, 0.01).open({}) as channel:
        channel.write_message(message(1))
        while not numbers(folder):
            time.sleep(0.01)
        channel.write_message(message(2))
        channel.write_message(message(3))
    assert numbers(folder) == [1, 2, 3]


def test_what_could_not_be_sent_is_sent_later(folder: JobFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    refusals = chain([True, True], repeat(False))
    real = JobFolder.put_chunk

    def put(self: JobFolder, index: int, lines: list[str]) -> None:
        if next(refusals):
            raise OSError("slow down")
        real(self, index, lines)

    monkeypatch.setattr(JobFolder, "put_chunk", put)
    with capture_logs() as logs, FolderMessageWriter(folder, 0.01).open({}) as channel:
        channel.write_message(message(1))
        while not numbers(folder):
            time.sleep(0.01)
        channel.write_message(message(2))
    assert numbers(folder) == [1, 2]
    assert {line["event"] for line in logs} == {"messages_wait"}
