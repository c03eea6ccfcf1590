"""The group: a verb for each thing that a person does to a server, as the page `polaris.md` has them."""

import shlex
from pathlib import Path

import pytest

from lakehouse.cli.commands.environment.polaris.command import polaris as group
from lakehouse_tests.cli.commands.environment.polaris.conftest import Polaris
from lakehouse_tests.guides import ROOT

PAGE = ROOT / "docs" / "how-to" / "polaris.md"
DIFFERS = 1


def test_its_verbs() -> None:
    names = {str(command.callback.__name__) for command in group.registered_commands if command.callback}
    assert names == {"plan", "apply", "rotate", "setup", "check", "policies"}


def test_what_the_page_says_is_done(polaris: Polaris, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = PAGE.read_text(encoding="utf-8").split("```shell\n")[1:]
    lines = [line for block in blocks for line in block.split("```")[0].splitlines()]
    ended = {line: polaris(*shlex.split(line)[2:]).exit_code for line in lines if line.startswith("lakehouse polaris ")}
    assert len(ended) == 5
    assert [line for line, code in ended.items() if code] == ["lakehouse polaris plan"]
    assert ended["lakehouse polaris plan"] == DIFFERS
