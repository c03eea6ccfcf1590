"""A tag on the snapshot with which a mirror began: whatever trims or expires its table knows what a tag protects.

Without that snapshot the mirror can be neither proven nor rebuilt. Its seal names it, but a publish to that table asks
no mirror before it trims old snapshots.
"""

import hashlib
import re

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table.update import AssertTableUUID

from lakehouse.iceberg.names import identifier_of
from lakehouse.protocol.catalog import LakeCatalog, TableChange, ref_is, set_tag
from lakehouse.protocol.leases.references import commit_missing
from lakehouse.protocol.seals.history import head_of

_PREFIX = "lakehouse_initial_"


def initial_tag(mirror: str) -> str:
    """The tag of a mirror; a name in other letters, or with a dot elsewhere, has another one."""
    return f"{_PREFIX}{re.sub(r'[^A-Za-z0-9]+', '_', mirror)}_{hashlib.sha256(mirror.encode()).hexdigest()[:8]}"


def is_initial(tag: str) -> bool:
    """Whether a tag is of a mirror's beginning."""
    return tag.startswith(_PREFIX)


def hold_initial(catalog: LakeCatalog, mirror: str, initial: str) -> None:
    """Set the tag, or move it to where a rebuild began; where the snapshot is gone, the mirror's proof says so.

    Args:
        catalog: where the table lives.
        mirror: that began with it.
        initial: `table@snapshot`, as the mirror's seal says it; empty where it began without.

    Raises:
        CommitFailedException: other commits came first too often.
    """
    name, _, snapshot = initial.rpartition("@")
    tag = initial_tag(mirror)

    def missing() -> list[TableChange]:
        try:
            table = catalog.load_table(identifier_of(name))
        except NoSuchTableError:
            return []
        current = head_of(table, tag)
        if current == int(snapshot) or table.metadata.snapshot_by_id(int(snapshot)) is None:
            return []
        requirements = (AssertTableUUID(uuid=table.metadata.table_uuid), ref_is(tag, current))
        return [TableChange(table.name(), requirements, (set_tag(tag, int(snapshot)),))]

    if name:
        commit_missing(catalog, missing, what=f"{name}: the tag {tag}")
