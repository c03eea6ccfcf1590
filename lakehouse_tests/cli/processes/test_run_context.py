"""A signal ends a command well: what was interrupted says how to go on."""

import os
import signal

import pytest
import typer

from lakehouse.cli.context import Context
from lakehouse.cli.processes.run_context import INTERRUPTED, ended_by_signals, resumable


def test_an_interrupted_command_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended, resumable(Context()):
        raise KeyboardInterrupt

    assert ended.value.exit_code == INTERRUPTED == 130
    assert "run it again, and it goes on" in capsys.readouterr().err


def test_a_hangup_that_nohup_has_ignored_stays_ignored() -> None:
    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ended_by_signals():
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, former)
