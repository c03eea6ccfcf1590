"""Options that say nothing together are refused in one line, before anything is asked."""

import pytest
from typer.testing import CliRunner

from lakehouse.cli import app


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--foreign", "raw.nest"), "Nothing says from which topic the table is filled. Remedy: add --topic"),
        (("--topic", "birds"), "name it with --foreign"),
        (("--started-late",), "name it with --foreign"),
        (("--key", "name"), "name it with --foreign"),
        (("--foreign", "raw.nest", "--topic", "birds", "--scan"), "--foreign does not go with --scan"),
        (("flights", "--foreign", "raw.nest", "--topic", "birds"), "--foreign does not go with flights"),
    ],
)
def test_what_does_not_go_together(words: tuple[str, ...], line: str) -> None:
    done = CliRunner().invoke(app, ["audit", *words], env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert line in done.output
