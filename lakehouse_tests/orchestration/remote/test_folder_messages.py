"""Messages of a driver are read from the first on, whoever has launched it, and a half line of a killed one is none."""

import json
from pathlib import Path
from typing import Any, cast

from dagster._core.pipes.context import PipesMessageHandler

from lakehouse.orchestration.remote.folder_messages import FolderMessageReader


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


def read(path: Path) -> _Handler:
    handler = _Handler()
    with FolderMessageReader(path).read_messages(cast("PipesMessageHandler", handler)) as params:
        assert params == {"path": str(path)}
    return handler


def test_each_reader_gets_all_messages_and_the_file_stays(tmp_path: Path) -> None:
    file = tmp_path / "messages"
    lines = [{"method": "opened"}, {"method": "log", "params": {"message": "3 birds\n"}}]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"method": "clo')
    for _ in range(2):
        handler = read(file)
        assert handler.messages == lines
        assert handler.errors == []
