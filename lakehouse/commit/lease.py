"""A lease: whoever reads a table in ranges of snapshots says so with a tag, and publishing trims nothing newer.

A tag protects one snapshot only, and a range can be read only while every snapshot from its start to its end is there.
So the tag `lakehouse_lease_<owner>` stands for all of `main` after it as well; `trim` knows that.
"""

import re
from dataclasses import dataclass

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.update import AssertTableUUID
from pyiceberg.typedef import Identifier

from lakehouse.catalog import LakeCatalog, TableChange, ref_is, remove_ref, set_tag
from lakehouse.commit.history import head_of
from lakehouse.commit.references import commit_missing

LEASE_PREFIX = "lakehouse_lease_"


@dataclass(frozen=True)
class Lease:
    """Where a reader has come to.

    Args:
        identifier: the table that is read.
        uuid: of that table.
        owner: who reads; `namespace.table` of a mirror.
        snapshot_id: the last snapshot that was read: the next range begins after it.
    """

    identifier: Identifier
    uuid: str
    owner: str
    snapshot_id: int

    @property
    def tag(self) -> str:
        """The tag's name."""
        return lease_tag(self.owner)


def lease_tag(owner: str) -> str:
    """The tag of an owner."""
    return LEASE_PREFIX + re.sub(r"[^A-Za-z0-9]+", "_", owner)


def leases(table: Table) -> dict[str, int]:
    """Tag of each lease → the snapshot that its owner has come to."""
    return {
        name: ref.snapshot_id
        for name, ref in table.metadata.refs.items()
        if name.startswith(LEASE_PREFIX) and ref.snapshot_ref_type == SnapshotRefType.TAG
    }


def lease_change(catalog: LakeCatalog, lease: Lease) -> TableChange | None:
    """The change that moves a lease, to be sent together with others; it does not mind where `main` is.

    None where there is nothing to move: the lease is there already, or the snapshot or its table is gone. The reader's
    next run says so; what this one has read is none the worse for it.
    """
    try:
        table = catalog.load_table(lease.identifier)
    except NoSuchTableError:
        return None
    known = table.metadata.snapshot_by_id(lease.snapshot_id) is not None
    if not known or str(table.metadata.table_uuid) != lease.uuid or head_of(table, lease.tag) == lease.snapshot_id:
        return None
    return TableChange(
        lease.identifier, (AssertTableUUID(uuid=table.metadata.table_uuid),), (set_tag(lease.tag, lease.snapshot_id),)
    )


def take_lease(catalog: LakeCatalog, lease: Lease) -> bool:
    """Begin or move a lease in a commit of its own; whether it is there afterwards.

    Raises:
        CommitFailedException: other commits came first too often.
    """

    def missing() -> list[TableChange]:
        change = lease_change(catalog, lease)
        return [] if change is None else [change]

    commit_missing(catalog, missing, what=f"{'.'.join(lease.identifier)}: the lease {lease.tag}")
    return _is_there(catalog, lease)


def release_lease(catalog: LakeCatalog, identifier: Identifier, owner: str) -> bool:
    """End a lease, for example of a mirror that is gone; whether there was one.

    Raises:
        CommitFailedException: it was moved meanwhile, so its owner is at work.
    """
    table = catalog.load_table(identifier)
    at = head_of(table, lease_tag(owner))
    if at is None:
        return False
    uuid = AssertTableUUID(uuid=table.metadata.table_uuid)
    tag = lease_tag(owner)
    catalog.commit_tables([TableChange(identifier, (uuid, ref_is(tag, at)), (remove_ref(tag),))])
    return True


def _is_there(catalog: LakeCatalog, lease: Lease) -> bool:
    try:
        return head_of(catalog.load_table(lease.identifier), lease.tag) == lease.snapshot_id
    except NoSuchTableError:
        return False
