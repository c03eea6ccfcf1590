"""Leaves out the demo: what is declared with the owner `demo`, and the streams and mirrors that fill nothing else."""

from collections.abc import Sequence
from pathlib import Path

from lakehouse.declarations.changelog import Changelog
from lakehouse.declarations.derived import Derived
from lakehouse.declarations.mirror import Mirror
from lakehouse.declarations.registry.files import Item
from lakehouse.declarations.release import Release
from lakehouse.declarations.stream import Stream
from lakehouse.declarations.table import Table

DEMO_OWNER = "demo"
Declared = tuple[Item, Path]


def without_demo(items: Sequence[Declared]) -> list[Declared]:
    """The items that are not the demo's."""
    demo = {item.name for item, _ in items if _owner(item) == DEMO_OWNER}
    return [(item, file) for item, file in items if not _belongs_to(demo, item)]


def _belongs_to(demo: set[str], item: Item) -> bool:
    match item:
        case Stream():
            return set(item.tables) <= demo
        case Mirror():
            return item.changelog_name in demo
        case Derived():
            return item.table.owner == DEMO_OWNER
        case Table() | Changelog() | Release():
            return item.owner == DEMO_OWNER


def _owner(item: Item) -> str:
    return item.owner if isinstance(item, Table | Changelog) else ""
