"""What the lake says is shown, and obeyed by no terminal; and whoever stops reading is no error."""

import subprocess
import sys
from io import StringIO

import pytest
from rich.table import Table
from rich.text import Text

from lakehouse.cli.console import SafeConsole, is_reader_gone
from lakehouse.cli.exit_codes import READER_GONE

HOSTILE = "raw.a\x1b[2K\x1b]0;title\x07\x9b1m\u202e\rnothing"
SHOWN = r"raw.a\x1b[2K\x1b]0;title"
PROGRAM = """
import typer
from lakehouse.cli.exit_on_error import OneLinePerError
app = typer.Typer(cls=OneLinePerError)
@app.callback()
def common(): pass
@app.command()
def log():
    from lakehouse.cli.context import Context
    for number in range({lines}):
        {print}
    raise typer.Exit(1)
app()
"""


@pytest.mark.parametrize("terminal", [True, False])
def test_no_control_character_of_a_text_reaches_the_terminal(*, terminal: bool) -> None:
    console = SafeConsole(file=StringIO(), force_terminal=terminal, width=200, color_system=None)
    table = Table("name", title=HOSTILE)
    table.add_row(Text(HOSTILE))
    console.print(table)
    console.print(HOSTILE, markup=False, highlight=False)
    console.print(Text(HOSTILE, "bold"), style="red")
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert text.count(SHOWN) == 4
    assert not set(text) & set("\x07\x9b\u202e\r")
    own = {"\x1b[1m", "\x1b[0m", "\x1b[3m"}
    assert all(any(text[index:].startswith(code) for code in own) for index, c in enumerate(text) if c == "\x1b")


def test_what_looks_like_markup_or_a_code_of_emoji_is_shown_as_it_is() -> None:
    name = "a:b:c [red]x[/] [/y] [link=https://elsewhere]z \\[w]"
    console = SafeConsole(file=StringIO(), width=200)
    table = Table(name, title=name, caption=name)
    table.add_row(name)
    console.print(table)
    console.print(name, style="red")
    console.print(console.status(name).renderable)
    with console.status("") as status:
        status.update(name)
        console.print(status.renderable)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert text.count(name) == 7


@pytest.mark.parametrize("lines", [1, 20_000])
@pytest.mark.parametrize("write", ["Context().tell(str(number))", "typer.echo(number)"])
def test_who_stops_reading_is_no_error(lines: int, write: str) -> None:
    program = [sys.executable, "-c", PROGRAM.format(lines=lines, print=write), "log"]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stderr
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() == READER_GONE


def test_an_output_that_is_read_has_its_reader() -> None:
    assert not is_reader_gone()
