"""Tags of releases that no later release drops: a person has to, or they hold their snapshots for ever."""

from pyiceberg.table import Table

from lakehouse.declarations import Declarations, Release
from lakehouse.iceberg.names import table_name
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.errors import MetadataFileDamaged, SealBroken
from lakehouse.steps.release.errors import NothingReleased, PointerDamaged
from lakehouse.steps.release.names import TAG_PREFIX, is_tag_of
from lakehouse.steps.release.pointer import load_pointer


def orphaned_tags(catalog: LakeCatalog, declarations: Declarations, table: Table) -> frozenset[str]:
    """The tags whose group is not declared, or does not look after the table any more.

    None while a declaration does not load: it may be the group's.
    """
    if declarations.broken:
        return frozenset()
    tags = {ref for ref in table.metadata.refs if ref.startswith(TAG_PREFIX)}
    for group in declarations.releases.values():
        tags_of_group = {tag for tag in tags if is_tag_of(tag, group.name)}
        if tags_of_group and _looks_after(catalog, group, table_name(table)):
            tags -= tags_of_group
    return frozenset(tags)


def _looks_after(catalog: LakeCatalog, group: Release, name: str) -> bool:
    """Whether the group's next release drops old tags of a table: of members, and of what the pointer remembers."""
    if name in group.members:
        return True
    try:
        statement = load_pointer(catalog, group.name).statement
    except NothingReleased:
        return False
    except (SealBroken, PointerDamaged, MetadataFileDamaged):
        return True  # nobody can tell: its tags are not for a person to drop before the pointer is repaired
    return statement is not None and name in statement.tables
