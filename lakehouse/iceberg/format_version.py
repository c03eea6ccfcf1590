"""Which format versions of Iceberg can be written here: PyIceberg writes no manifest list of version 3.

Spark alone can go on with such a table. Rewrites of data files are therefore still published, by
`lakehouse.protocol.commit.replace_as_written`; every other step commits through PyIceberg and is refused beforehand.
"""

from pyiceberg.table import Table

from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import name_of

NEWEST_WRITABLE = 2
DOWNGRADE = (
    "drop the table without purging it, and register it with the newest metadata file of its folder that says "
    '"format-version": 2; what was committed after that file is left out'
)


class UnwritableVersion(LakehouseError):
    """A table was upgraded to a format version that no step can write."""


def unwritable_version(version: int) -> str:
    """What keeps steps from writing to a table of a format version; empty where nothing does."""
    if version <= NEWEST_WRITABLE:
        return ""
    return f"it was upgraded to format version {version}, and steps write tables up to version {NEWEST_WRITABLE}"


def require_writable(table: Table) -> None:
    """Refuse to begin what could not be committed.

    Raises:
        UnwritableVersion: names the table, and how it becomes writable again.
    """
    if reason := unwritable_version(table.metadata.format_version):
        raise UnwritableVersion(f"{name_of(table.name())}: {reason}.", remedy=DOWNGRADE)
