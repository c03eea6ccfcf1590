"""The tag `release-<group>-current`: it follows the pointer, so that an engine can read what is current by name.

It comes after the pointer, in one commit over all members, and is no promise of one vintage: whoever reads several
tables by it may meet it on the way from one release to the next. They look the id up once, and read by its own tag.
Killed in between, it names the release before until somebody releases or rolls back again, or the same run is tried
again; `lakehouse audit` names it if nobody does.
"""

import time
from collections.abc import Iterator, Mapping
from datetime import timedelta

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.table.update import AssertTableUUID

from lakehouse.iceberg.names import identifier_of
from lakehouse.proofs.audit import Finding
from lakehouse.protocol.catalog import LakeCatalog, TableChange, ref_is, remove_ref, set_tag
from lakehouse.protocol.leases.references import commit_missing
from lakehouse.protocol.seals.history import head_of
from lakehouse.steps.release.names import current_tag
from lakehouse.steps.release.pointer import load_pointer
from lakehouse.steps.release.statement import PointerStatement

# So long a release may take from the pointer to the tag, among writers who commit to its members all the time.
GRACE = timedelta(minutes=10)


def follow_pointer(catalog: LakeCatalog, group: str) -> None:
    """Let the tag name, on all members, what the pointer says now; tables that are members no longer lose it.

    The pointer is read again on every try, so of two who move it the later one is followed, whoever commits last.

    Raises:
        NothingReleased: there is no release yet.
        CommitFailedException: other commits came first too often; the next who moves the pointer tries again.
    """

    def missing() -> list[TableChange]:
        now = load_pointer(catalog, group).current
        names = sorted({*now.tables, *(member.table for member in now.members)})
        return list(changes(group, now, {name: table for name in names if (table := _load(catalog, name))}))

    commit_missing(catalog, missing, what=f"{group}: the tag {current_tag(group)}")


def changes(group: str, now: PointerStatement, tables: Mapping[str, Table]) -> Iterator[TableChange]:
    """What the tables lack to agree with the pointer. One that was created anew has nothing that was released."""
    tag = current_tag(group)
    for name, table in tables.items():
        released = _released(now, name, table)
        tagged = head_of(table, tag)
        if tagged == released:
            continue
        update = remove_ref(tag) if released is None else set_tag(tag, released)
        requirements = (AssertTableUUID(uuid=table.metadata.table_uuid), ref_is(tag, tagged))
        yield TableChange(identifier_of(name), requirements, (update,))


def astray(group: str, now: PointerStatement, tables: Mapping[str, Table]) -> Iterator[Finding]:
    """Where the tag names something else than the pointer, though there was time enough to follow it.

    A table without it is none of them: its release was made by a version that set none.
    """
    if time.time() * 1000 - now.moved_ms < GRACE / timedelta(milliseconds=1):
        return
    tag = current_tag(group)
    for name, table in tables.items():
        tagged, released = head_of(table, tag), _released(now, name, table)
        if tagged is not None and tagged != released:
            message = f"{name}: the tag {tag} names snapshot {tagged}, and {released} is current."
            yield Finding("current_tag", message, name)


def _released(now: PointerStatement, name: str, table: Table) -> int | None:
    """The snapshot of a table that is current, where it is a member and still has it."""
    for member in now.members:
        if member.table == name and member.uuid == str(table.metadata.table_uuid):
            return member.snapshot_id if table.metadata.snapshot_by_id(member.snapshot_id) else None
    return None


def _load(catalog: LakeCatalog, name: str) -> Table | None:
    try:
        return catalog.load_table(identifier_of(name))
    except NoSuchTableError:
        return None
