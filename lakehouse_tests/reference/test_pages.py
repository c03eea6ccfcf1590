"""The generated pages are what the code says today, and leave nothing out."""

from pathlib import Path

import pytest

from lakehouse.cli.verbs import PANELS
from lakehouse_tests.reference import checks, declarations
from lakehouse_tests.reference.lines import COMMAND, attributes
from lakehouse_tests.reference.pages import FOLDER, PAGES


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_it_is_what_the_code_says(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == PAGES[path](), f"write it anew: {COMMAND}"


def test_everything_that_users_declare_is_there() -> None:
    assert sorted(declarations.declared()) == sorted(name for names in declarations.SECTIONS.values() for name in names)


def test_every_command_is_there() -> None:
    text = (FOLDER / "commands.md").read_text(encoding="utf-8")
    verbs = [verb.name for verbs in PANELS.values() for verb in verbs]
    assert [verb for verb in verbs if f"### `lakehouse {verb}`" not in text] == []


def test_every_kind_of_check_has_an_example() -> None:
    text = (FOLDER / "checks.md").read_text(encoding="utf-8")
    named = ("references_<table>", *(f"{kind}_<column>" for kind in ("drift", "sample", "same_values", "histogram")))
    assert [name for name in (*named, "unique_key", "row_count") if f"`{name}`" not in text] == []


def test_a_description_over_several_lines_is_one_text() -> None:
    class Shown:
        """What it is.

        Attributes:
            first: one line.
            second: a line
                and its end.
        """

    assert attributes(Shown) == {"first": "one line.", "second": "a line and its end."}
    assert checks._pattern("drift_arr_delay") == "drift_<column>"
