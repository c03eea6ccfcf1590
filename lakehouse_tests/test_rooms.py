"""The tree: what the page says of it, how large its rooms are, and that a name means one thing."""

import ast
from collections import Counter

from lakehouse_tests.rooms import PAGE, ROOT, exceptions, modules_without_test, page

LARGEST = 16  # modules of a room, its `__init__` among them
MOST_EXCEPTIONS = 298  # modules without a test of their name; lower it with the list, never raise it


def test_the_page_says_what_the_modules_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "write it anew: .venv/bin/python -m lakehouse_tests.rooms"


def test_no_room_is_a_long_list() -> None:
    rooms = Counter(file.parent for file in (ROOT / "lakehouse").rglob("*.py"))
    assert {room.relative_to(ROOT).as_posix(): size for room, size in rooms.items() if size > LARGEST} == {}


def test_a_public_class_name_means_one_thing() -> None:
    places: dict[str, list[str]] = {}
    for file in sorted((ROOT / "lakehouse").rglob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(file.relative_to(ROOT).as_posix())
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_a_module_has_a_test_of_its_name() -> None:
    without, listed = modules_without_test(), exceptions()
    assert sorted(set(without) - set(listed)) == [], "write lakehouse_tests/<room>/test_<module>.py"
    assert sorted(set(listed) - set(without)) == [], "strike them off: .venv/bin/python -m lakehouse_tests.rooms"
    assert len(listed) <= MOST_EXCEPTIONS, "the list may only become shorter"
    assert listed == sorted(set(listed))
