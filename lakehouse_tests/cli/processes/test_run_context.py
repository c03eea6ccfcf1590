"""A signal ends a command well: what was interrupted says how to go on."""

import pytest
import typer

from lakehouse.cli.context import Context
from lakehouse.cli.processes.run_context import INTERRUPTED, resumable


def test_an_interrupted_command_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended, resumable(Context()):
        raise KeyboardInterrupt

    assert ended.value.exit_code == INTERRUPTED == 130
    assert "run it again, and it goes on" in capsys.readouterr().err
