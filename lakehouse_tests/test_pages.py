"""Pages that can be read: no long line or cell, no dead link, no file that is not there."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lakehouse_tests.cli.whole_command import whole_command

ROOT = Path(__file__).parents[1]
PAGES = (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
LONGEST = 120
README_LINES = 200
ROOTS = (ROOT, ROOT / "lakehouse", ROOT / "lakehouse_tests")
_LINK = re.compile(r"""(?:\]\(|^\[[^\]]+\]:\s+|\b(?:href|src)=")([^)"\s]+)""", re.MULTILINE)
_COMMAND = re.compile(r"(?:`|^|/)lakehouse ((?:[a-z][a-z-]*)(?: [^`\n]*)?)", re.MULTILINE)
_FILE = re.compile(r"`([\w./-]+/[\w.-]+\.(?:py|yaml|toml|md|png|json))`")


def parts(page: Path) -> Iterator[tuple[int, str]]:
    """What may not be longer than a screen is wide: lines, and cells where a line is of a table."""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("|"):
            yield from ((number, cell.strip()) for cell in re.split(r"(?<!\\)\|", line.strip("|")))
        else:
            yield number, line


def anchors(page: Path) -> set[str]:
    """The headings of a page, as links name them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_no_line_and_no_cell_is_too_long(page: Path) -> None:
    assert [(number, len(part), part) for number, part in parts(page) if len(part) > LONGEST] == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_internal_link_leads_somewhere(page: Path) -> None:
    dead: list[str] = []
    for target in _LINK.findall(page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        if "://" in target:
            continue
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            dead.append(target)
    assert dead == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_file_that_is_named_is_there(page: Path) -> None:
    named = _FILE.findall(page.read_text(encoding="utf-8"))
    assert [name for name in named if not any((root / name).exists() for root in ROOTS)] == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_command_that_is_named_is_one_with_these_options(page: Path) -> None:
    unknown: list[str] = []
    for line in _COMMAND.findall(page.read_text(encoding="utf-8")):
        words = line.split("  ")[0].split("#")[0].split()
        command: Any = whole_command()
        while words and hasattr(command, "commands"):
            command = command.commands.get(words.pop(0).split("|")[0])
        options = command.params if command else ()
        known = {"--help", *(name for option in options for name in (*option.opts, *option.secondary_opts))}
        asked = {word.strip("[],.()").split("=")[0] for word in words if word.lstrip("[").startswith("--")}
        if command is None or asked - known:
            unknown.append(line)
    assert unknown == []


def test_every_page_is_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen:
            continue
        seen.add(page)
        links = (target.partition("#")[0] for target in _LINK.findall(page.read_text(encoding="utf-8")))
        linked = {(page.parent / link).resolve() for link in links if link and "://" not in link}
        waiting += [path for path in linked if path.suffix == ".md" and path.is_file()]
        waiting += [path for folder in linked if folder.is_dir() for path in folder.glob("*.md")]
    assert [str(page.relative_to(ROOT)) for page in PAGES if page not in seen and page.name != "CHANGELOG.md"] == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= README_LINES
