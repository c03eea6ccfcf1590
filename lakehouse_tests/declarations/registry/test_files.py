"""A file of declarations is a program: whatever it does when it is loaded is its own matter, and never a result."""

from pathlib import Path

import pytest

from lakehouse.declarations.registry.broken import FileBroken
from lakehouse.declarations.registry.files import declared_in

TABLE = """
import pandera.pyspark as pa
from lakehouse import Table
class Thing(pa.DataFrameModel):
    a: str = pa.Field(description="A")
things = Table(name={name}, schema=Thing, description="Things.", owner="o")
"""


def test_what_it_prints_goes_to_the_messages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "things.py"
    file.write_text("print('loading')\n" + TABLE.format(name="'raw.things'"))
    assert [item.name for item in declared_in(file)] == ["raw.things"]
    assert capsys.readouterr() == ("", "loading\n")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("raise SystemExit", "line 1: SystemExit. Remedy"),
        ("class Skipped(BaseException): pass\nraise Skipped('not here')", "line 2: Skipped: not here. Remedy"),
        (TABLE.format(name=5), "line 6: A table's name is no text, but of type int. Remedy: quote it"),
    ],
)
def test_however_it_ends_the_line_is_named(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "things.py"
    file.write_text(text)
    with pytest.raises(FileBroken, match=says):
        declared_in(file)


def test_an_interrupt_is_a_persons(tmp_path: Path) -> None:
    file = tmp_path / "things.py"
    file.write_text("raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        declared_in(file)
