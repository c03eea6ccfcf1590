"""What takes long is named: by the page of what `make soak` runs, and by the list that `make fast` leaves out."""

import re
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "reference" / "testing.md"
# By itself, or within the catalogs of `fixtures/lakes.py`; escaped so that this line is not one of them.
MARK = re.compile(r"pytest\.mark\.soak|import\sSERVER_FIRST")


def test_the_page_names_every_module_with_a_long_form() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## Short and long forms\n")[2].partition("\n## ")[0]
    named = re.findall(r"^\| `([\w/]+\.py)` \|", section, re.MULTILINE)
    marked = [path for path in TESTS.rglob("test_*.py") if MARK.search(path.read_text(encoding="utf-8"))]
    assert sorted(named) == sorted(str(path.relative_to(TESTS)) for path in marked)


def test_the_modules_that_take_seconds_are_there() -> None:
    names = (TESTS / "seconds.txt").read_text(encoding="utf-8").split()
    assert names == sorted(set(names))
    assert [name for name in names if not (TESTS / name).is_file()] == []
