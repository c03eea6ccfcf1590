"""The generated pages: where each is, and what writes it."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from lakehouse_tests import rooms
from lakehouse_tests.faults import page as faults
from lakehouse_tests.faults.table import FAULTS
from lakehouse_tests.mechanisms import page as mechanisms
from lakehouse_tests.mechanisms.table import MECHANISMS
from lakehouse_tests.reference import catalogs, checks, commands, declarations, settings

FOLDER = rooms.ROOT / "docs" / "reference"
PAGES: Mapping[Path, Callable[[], str]] = {
    FOLDER / "commands.md": commands.page,
    FOLDER / "declarations.md": declarations.page,
    FOLDER / "catalogs.md": catalogs.page,
    FOLDER / "checks.md": checks.page,
    FOLDER / "settings.md": settings.page,
    rooms.PAGE: rooms.page,
    faults.PAGE: partial(faults.page, FAULTS),
    mechanisms.PAGE: partial(mechanisms.page, MECHANISMS),
}
