"""`docs/reference/rooms.md`: the tree of the package, from its docstrings; and what tests are named after."""

import ast
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap

from lakehouse_tests.mechanisms.page import WIDTH

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "rooms.md"
_PACKAGE = ROOT / "lakehouse"
_TESTS = ROOT / "lakehouse_tests"
EXCEPTIONS = _TESTS / "modules_without_test.txt"
_BEGIN = """# Rooms

Which file does what, from the first line of each. Rooms that stand higher use those below, never the other way round;
`lint-imports` checks it. The floors, from above: `cli`, `build` and `testing`, `orchestration` and `demo`, `steps`,
`proofs`, `contracts` and `polaris`, `formats`, `protocol`, `engines`, `declarations`, `settings`, `iceberg`.

`.venv/bin/python -m lakehouse_tests.rooms` writes this page."""
_FLOORS = (
    *("cli", "testing", "orchestration", "demo", "steps", "proofs", "contracts", "polaris"),
    *("formats", "protocol", "engines", "declarations", "settings", "iceberg"),
)


def page() -> str:
    """The whole page."""
    return "\n".join([_BEGIN, *_lines()]) + "\n"


def modules_without_test() -> list[str]:
    """Modules that no file of tests is named after: `a/b.py` by `a/test_b.py` below `lakehouse_tests/`."""
    modules = [file.relative_to(_PACKAGE) for file in _PACKAGE.rglob("*.py") if file.name != "__init__.py"]
    return sorted(
        module.as_posix() for module in modules if not (_TESTS / module.parent / f"test_{module.name}").is_file()
    )


def exceptions() -> list[str]:
    """Modules that had no such file when that became the rule."""
    return EXCEPTIONS.read_text(encoding="utf-8").split()


def _lines() -> Iterator[str]:
    yield from ("", "## lakehouse", "")
    yield from _modules(_PACKAGE)
    for floor in _FLOORS:
        yield from _room(_PACKAGE / floor)


def _room(folder: Path) -> Iterator[str]:
    name = folder.relative_to(_PACKAGE).as_posix()
    yield from ("", f"##{'#' * name.count('/')} {name}", "")
    yield from _wrapped(_first_line(folder / "__init__.py"), "")
    modules = list(_modules(folder))
    if modules:
        yield ""
        yield from modules
    for below in sorted(each for each in folder.iterdir() if (each / "__init__.py").is_file()):
        yield from _room(below)


def _modules(folder: Path) -> Iterator[str]:
    for file in sorted(folder.glob("*.py")):
        if file.name != "__init__.py":
            yield from _wrapped(f"- `{file.stem}`: {_first_line(file)}", "  ")


def _first_line(file: Path) -> str:
    documented = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    return documented.splitlines()[0] if documented else ""


def _wrapped(text: str, indent: str) -> list[str]:
    return wrap(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    fewer = sorted(set(exceptions()) & set(modules_without_test()))  # never more
    EXCEPTIONS.write_text("".join(f"{module}\n" for module in fewer), encoding="utf-8")
