"""The tree: what the page says of it, how large its rooms are, and that a name means one thing."""

import ast
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

from lakehouse_tests.rooms import PAGE, ROOT, exceptions, modules_without_test, page

LARGEST = 16  # modules of a room, its `__init__` among them
LONGEST = 250  # lines of a module
# Rooms whose sub-rooms or modules use each other, though no module does itself; strike off, never add.
MUTUAL = {
    *("lakehouse.engines.kafka", "lakehouse.engines.spark", "lakehouse.formats", "lakehouse.formats.changes"),
    *("lakehouse.settings", "lakehouse.steps.ingest"),
}
# On no floor: what a process or Python begins with, and former names, which import nothing of ours but `_moved`.
ON_NO_FLOOR = {"__main__", "_moved", "commit", "resources", "runtime", "shipped", "tables"}
MOST_EXCEPTIONS = 242  # modules without a test of their name; lower it with the list, never raise it


@cache
def parsed() -> dict[Path, ast.Module]:
    """Each module of ours, in order."""
    return {file: ast.parse(file.read_text(encoding="utf-8")) for file in sorted((ROOT / "lakehouse").rglob("*.py"))}


def test_the_page_says_what_the_modules_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "write it anew: .venv/bin/python -m lakehouse_tests.rooms"


def test_no_room_is_a_long_list() -> None:
    rooms = Counter(file.parent for file in (ROOT / "lakehouse").rglob("*.py"))
    assert {room.relative_to(ROOT).as_posix(): size for room, size in rooms.items() if size > LARGEST} == {}


def test_a_public_class_name_means_one_thing() -> None:
    places: dict[str, list[str]] = {}
    for file, module in parsed().items():
        for node in module.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(file.relative_to(ROOT).as_posix())
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_a_module_has_a_test_of_its_name() -> None:
    without, listed = modules_without_test(), exceptions()
    assert sorted(set(without) - set(listed)) == [], "write lakehouse_tests/<room>/test_<module>.py"
    assert sorted(set(listed) - set(without)) == [], "strike them off: .venv/bin/python -m lakehouse_tests.rooms"
    assert len(listed) <= MOST_EXCEPTIONS, "the list may only become shorter"
    assert listed == sorted(set(listed))


def test_no_module_is_a_long_read() -> None:
    lines = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in (ROOT / "lakehouse").rglob("*.py")}
    assert {file.relative_to(ROOT).as_posix(): number for file, number in lines.items() if number > LONGEST} == {}


@cache
def imports() -> dict[str, set[str]]:
    """Module → what it imports of ours, wherever in it; what only a type checker imports is left out."""
    graph = grimp.build_graph("lakehouse", exclude_type_checking_imports=True)
    return {module: set(graph.find_modules_directly_imported_by(module)) for module in graph.modules}


def circle(graph: dict[str, set[str]]) -> list[str]:
    """The names of a circle, if there is one."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def within(room: str, graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """The same between what a room has in it: a module, or a room with all that is below."""
    depth = room.count(".") + 2
    below: dict[str, set[str]] = {}
    for module, imported in graph.items():
        if module.startswith(f"{room}."):
            part = ".".join(module.split(".")[:depth])
            others = {".".join(name.split(".")[:depth]) for name in imported if name.startswith(f"{room}.")}
            below.setdefault(part, set()).update(others - {part})
    return below


def test_modules_import_each_other_in_no_circle() -> None:
    assert circle(imports()) == []


def test_what_is_in_a_room_has_an_order() -> None:
    rooms = {module.rpartition(".")[0] for module in imports()} - {"", "lakehouse"}  # its floors are of `lint-imports`
    assert {room for room in rooms if circle(within(room, imports()))} == MUTUAL


@pytest.mark.parametrize("circular", [{"a.b": {"a.c"}, "a.c": {"a.b"}}, {"a.b.x": {"a.c"}, "a.c": {"a.b.y"}}])
def test_a_circle_is_seen(circular: dict[str, set[str]]) -> None:
    assert circle(within("a", circular))


def test_each_room_is_on_a_floor() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    floors = {name.strip() for layer in contracts[0]["layers"] for name in layer.split("|")}
    rooms = {module for module in imports() if module.count(".") == 1}
    assert rooms - floors - {f"lakehouse.{name}" for name in ON_NO_FLOOR} == set()


def from_the_surface() -> Iterator[str]:
    """What modules of ours import as users do: `lint-imports` would see no floor in it."""
    for file, module in parsed().items():
        for node in ast.walk(module):
            if isinstance(node, ast.ImportFrom) and node.module == "lakehouse" and "shipped" not in file.parts:
                public = [alias.name for alias in node.names if f"lakehouse.{alias.name}" not in imports()]
                yield from (f"{file.relative_to(ROOT)}:{node.lineno}: {name}" for name in public)


def test_no_module_of_ours_imports_from_the_public_surface() -> None:
    assert list(from_the_surface()) == []
