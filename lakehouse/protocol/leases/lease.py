"""A lease: whoever reads a table in ranges of snapshots says so with a tag, and nothing newer is trimmed or expired.

A tag protects one snapshot only, and a range can be read only while every snapshot from its start to its end is there.
So the tag `lakehouse_lease_<owner>_<hash>` stands for all of `main` after it as well; `trim` and expiry know that.
Whose it is, where, until when and why is a property of the same table, set and removed in the same commit as the tag. A
tag without that property is a lease without an end; a property whose tag somebody has dropped by hand is a lease still,
as long as its snapshot is there.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from shlex import quote

from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.update import AssertTableUUID, RemovePropertiesUpdate, SetPropertiesUpdate, TableUpdate
from pyiceberg.typedef import Identifier

from lakehouse.declarations import Maintenance
from lakehouse.iceberg.names import name_of
from lakehouse.protocol.catalog import LakeCatalog, TableChange, ref_is, remove_ref, set_tag
from lakehouse.protocol.leases.references import commit_missing
from lakehouse.protocol.leases.terms import LEASE_PROPERTY, LeaseTerms, lease_property, lease_terms
from lakehouse.protocol.seals.history import head_of

LEASE_PREFIX = "lakehouse_lease_"


@dataclass(frozen=True)
class Lease:
    """Where a reader has come to.

    Args:
        identifier: the table that is read.
        uuid: of that table.
        owner: who reads; `namespace.table` of a mirror.
        snapshot_id: the last snapshot that was read: the next range begins after it.
        until: when it is overdue; None for never.
        reason: why, for a person.
    """

    identifier: Identifier
    uuid: str
    owner: str
    snapshot_id: int
    until: datetime | None = None
    reason: str = ""

    @property
    def tag(self) -> str:
        """The tag's name."""
        return lease_tag(self.owner)


def lease_tag(owner: str) -> str:
    """The tag of an owner; a name in other letters, or with a dot elsewhere, has another one."""
    return f"{_former_tag(owner)}_{hashlib.sha256(owner.encode()).hexdigest()[:8]}"


def _former_tag(owner: str) -> str:
    """The tag as it was, which several owners may have had."""
    return LEASE_PREFIX + re.sub(r"[^A-Za-z0-9]+", "_", owner)


def lease_until(policy: Maintenance) -> datetime | None:
    """When a hold that is taken now on a table of this policy is overdue; None where nothing is ever expired."""
    return datetime.now(UTC) + policy.expire.lease_for if policy.expire is not None else None


def leases(table: Table) -> dict[str, int]:
    """Tag of each lease → the snapshot that its owner has come to."""
    return {
        name: ref.snapshot_id
        for name, ref in table.metadata.refs.items()
        if name.startswith(LEASE_PREFIX) and ref.snapshot_ref_type == SnapshotRefType.TAG
    }


def held_leases(table: Table) -> tuple[Lease, ...]:
    """The leases on a table with their terms, also those whose tag somebody has dropped.

    One whose property nobody can read has no end.
    """
    uuid, tags = str(table.metadata.table_uuid), leases(table)
    terms = {_tag_of(entry.owner, tags): entry for entry in lease_terms(table).values()}
    present = {snapshot.snapshot_id for snapshot in table.metadata.snapshots} if terms else set[int]()
    dropped = {
        tag: given for tag, entry in terms.items() if (given := entry.snapshot_id) is not None and given in present
    }
    active: list[Lease] = []
    for tag, snapshot_id in sorted((dropped | tags).items()):
        own = terms.get(tag, LeaseTerms(tag.removeprefix(LEASE_PREFIX)))
        active.append(Lease(table.name(), uuid, own.owner, snapshot_id, own.until, own.reason))
    return tuple(active)


def lease_change(catalog: LakeCatalog, lease: Lease) -> TableChange | None:
    """The change that moves or renews a lease, to be sent together with others; it does not mind where `main` is.

    None where there is nothing to change: the lease is there already, or the snapshot or its table is gone. The
    reader's next run says so; what this one has read is none the worse for it.
    """
    try:
        table = catalog.load_table(lease.identifier)
    except NoSuchTableError:
        return None
    exists = table.metadata.snapshot_by_id(lease.snapshot_id) is not None
    if not exists or str(table.metadata.table_uuid) != lease.uuid or _is_held(table, lease):
        return None
    return TableChange(
        lease.identifier,
        (AssertTableUUID(uuid=table.metadata.table_uuid),),
        (
            set_tag(lease.tag, lease.snapshot_id),
            SetPropertiesUpdate(updates=_own_property(lease)),
            *(remove_ref(tag) for tag in _tags(table, lease.owner) if tag != lease.tag),
        ),
    )


def take_lease(catalog: LakeCatalog, lease: Lease) -> bool:
    """Begin, move or renew a lease in a commit of its own; whether it is there afterwards.

    Raises:
        CommitFailedException: other commits came first too often.
    """

    def missing() -> list[TableChange]:
        change = lease_change(catalog, lease)
        return [] if change is None else [change]

    commit_missing(catalog, missing, what=f"{name_of(lease.identifier)}: the lease {lease.tag}")
    try:
        return _is_held(catalog.load_table(lease.identifier), lease)
    except NoSuchTableError:
        return False


def release_lease(
    catalog: LakeCatalog, identifier: Identifier, owner: str, *, seen: Lease | None = None, give_up: int | None = None
) -> bool:
    """End a lease, for example of a mirror that is gone; whether there was one.

    Args:
        catalog: where the table lives.
        identifier: the table that is read.
        owner: whose lease.
        seen: the lease as it was when it was decided to end it; one that was moved or renewed since stays.
        give_up: the snapshot that the owner has read up to, if it has to read on and what follows may go all the same.

    Raises:
        CommitFailedException: it was moved or renewed meanwhile, so its owner is at work; or the catalog gave no clear
            answer, again and again.
    """
    own_leases = _leases_of(catalog.load_table(identifier), owner)
    moved = CommitFailedException(f"{name_of(identifier)}: {owner} has moved or renewed its lease meanwhile")
    if seen is not None and seen not in own_leases:
        raise moved

    def missing() -> list[TableChange]:
        table = catalog.load_table(identifier)
        if not (updates := _ending(table, owner, give_up)):
            return []
        if _leases_of(table, owner) != own_leases:
            raise moved
        requirements = [ref_is(tag, head_of(table, tag)) for tag in {lease_tag(owner), *_tags(table, owner)}]
        uuid = AssertTableUUID(uuid=table.metadata.table_uuid)
        return [TableChange(identifier, (uuid, *requirements), tuple(updates))]

    commit_missing(catalog, missing, what=f"{name_of(identifier)}: the end of {owner}'s lease")
    return bool(own_leases)


def _leases_of(table: Table, owner: str) -> list[Lease]:
    return [lease for lease in held_leases(table) if lease.owner == owner]


def _ending(table: Table, owner: str, give_up: int | None) -> list[TableUpdate]:
    """What has to be changed so that an owner has no lease; nothing where that is so."""
    updates: list[TableUpdate] = [remove_ref(tag) for tag in _tags(table, owner)]
    terms, key = {} if give_up is None else lease_property(LeaseTerms(owner, given_up=give_up)), LEASE_PROPERTY + owner
    if terms and not terms.items() <= table.properties.items():
        updates.append(SetPropertiesUpdate(updates=terms))
    elif not terms and key in table.properties:
        updates.append(RemovePropertiesUpdate(removals=[key]))
    return updates


def release_command(table: str, owner: str) -> str:
    """What ends a lease, or gives up what a consumer has still to read."""
    return f"lakehouse lease release {table} {quote(owner)} --yes"


def _is_held(table: Table, lease: Lease) -> bool:
    """Whether the lease is there, with its terms and no others."""
    heads = {tag: head_of(table, tag) for tag in _tags(table, lease.owner)}
    return heads == {lease.tag: lease.snapshot_id} and _own_property(lease).items() <= table.properties.items()


def _tags(table: Table, owner: str) -> list[str]:
    """The tags of an owner's lease that are there: its own, and the former one unless that is another's."""
    tags = leases(table)
    other_tags = {_tag_of(terms.owner, tags) for terms in lease_terms(table).values() if terms.owner != owner}
    return [tag for tag in (lease_tag(owner), _former_tag(owner)) if tag in tags and tag not in other_tags]


def _tag_of(owner: str, tags: Mapping[str, int]) -> str:
    """Under which of its names an owner's tag is to be found."""
    current, former = lease_tag(owner), _former_tag(owner)
    return former if former in tags and current not in tags else current


def _own_property(lease: Lease) -> dict[str, str]:
    return lease_property(LeaseTerms(lease.owner, lease.until, lease.reason, lease.snapshot_id))
