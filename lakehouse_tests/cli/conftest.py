"""The command, called as a person would, with state and settings of its own."""

from collections.abc import Callable

import pytest
from typer.testing import CliRunner, Result

from lakehouse.cli import app
from lakehouse.settings.state import StateFolder
from lakehouse_tests.orchestration.assets.house import house, working_house

__all__ = ["Lakehouse", "house", "lakehouse", "working_house"]

Lakehouse = Callable[..., Result]


@pytest.fixture
def lakehouse(empty_state: StateFolder, monkeypatch: pytest.MonkeyPatch) -> Lakehouse:
    """Call `lakehouse <words>`; nothing runs in its state folder yet."""
    monkeypatch.setenv("LAKEHOUSE_HOME", str(empty_state.root))
    monkeypatch.setenv("LAKEHOUSE__KAFKA__BOOTSTRAP_SERVERS", "127.0.0.1:1")

    def call(*words: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(app, words, input=stdin)

    return call
