"""The tags of a release: set on all members in one transaction, never moved, dropped when nobody may need them.

While a tag is there, trimming and expiry keep its snapshot, so a reader may take as long as the release is kept.
"""

from collections.abc import Collection, Iterable, Sequence

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.update import AssertTableUUID
from pyiceberg.typedef import Identifier

from lakehouse.iceberg.names import identifier_of
from lakehouse.protocol.catalog import LakeCatalog, TableChange, ref_is, remove_ref, set_tag
from lakehouse.protocol.leases.references import commit_missing
from lakehouse.protocol.seals.history import head_of
from lakehouse.steps.release.errors import TagRefused
from lakehouse.steps.release.names import id_of, tag_of
from lakehouse.steps.release.statement import ReleaseMember


def set_tags(catalog: LakeCatalog, release_id: str, members: Sequence[ReleaseMember]) -> None:
    """Tag every member at its snapshot, in one commit. Tags that are there already, and right, stay.

    Where `main` of a member has come to meanwhile does not matter: what was judged is what is tagged.

    Raises:
        TagRefused: a member was dropped or created anew, its snapshot is gone, or the tag names something else.
        CommitFailedException: other commits came first too often; no tag was set.
    """

    def missing() -> list[TableChange]:
        return [change for member in members if (change := _missing(catalog, release_id, member)) is not None]

    names = ", ".join(member.table for member in members)
    commit_missing(catalog, missing, what=f"{names}: the tag {tag_of(release_id)}")


def tags_of(table: Table, group: str) -> dict[str, int]:
    """Releases of a group that a table is tagged with → snapshot, newest first."""
    tags = {
        release_id: ref.snapshot_id
        for name, ref in table.metadata.refs.items()
        if ref.snapshot_ref_type == SnapshotRefType.TAG and (release_id := id_of(name, group)) is not None
    }
    return dict(sorted(tags.items(), reverse=True))


def drop_tags(
    catalog: LakeCatalog, group: str, tables: Iterable[str], *, kept: Collection[str], before: str
) -> list[str]:
    """Drop the tags of a group's releases that are older than `before` and not kept, in one commit.

    Among them are those of attempts that never moved the pointer: whoever sets tags takes an id behind the newest, so
    an older one can move it no more.

    Returns:
        The ids whose tags were dropped, newest first.

    Raises:
        CommitFailedException: other commits came first too often; the next release tries again.
    """
    names = [identifier_of(name) for name in tables]
    dropped: set[str] = set()

    def drop_outdated() -> list[TableChange]:
        changes: list[TableChange] = []
        for table in _existing(catalog, names):
            if outdated := [
                release_id for release_id in tags_of(table, group) if release_id < before and release_id not in kept
            ]:
                changes.append(_without(table, outdated))
                dropped.update(outdated)
        return changes

    commit_missing(catalog, drop_outdated, what=f"{group}: dropping the tags of outdated releases")
    return sorted(dropped, reverse=True)


def _missing(catalog: LakeCatalog, release_id: str, member: ReleaseMember) -> TableChange | None:
    """The change that tags a member, None where it is tagged already."""
    tag, identifier = tag_of(release_id), identifier_of(member.table)
    remedy = "release again: what is there now will be judged first"
    try:
        table = catalog.load_table(identifier)
    except NoSuchTableError as error:
        raise TagRefused(f"{member.table} was dropped while it was being released.", remedy=remedy) from error
    if str(table.metadata.table_uuid) != member.uuid:
        raise TagRefused(f"{member.table} was dropped and created anew while it was being released.", remedy=remedy)
    tagged_snapshot = head_of(table, tag)
    if tagged_snapshot == member.snapshot_id:
        return None
    if tagged_snapshot is not None:
        raise TagRefused(
            f"{member.table}: the tag {tag} names snapshot {tagged_snapshot} already, not {member.snapshot_id}; the "
            "tags of releases are never moved.",
            remedy="find out who set it; the next run releases under a name of its own",
        )
    if table.metadata.snapshot_by_id(member.snapshot_id) is None:
        raise TagRefused(
            f"{member.table}: snapshot {member.snapshot_id}, which was judged, is no longer in the table.",
            remedy=remedy,
        )
    return TableChange(
        identifier,
        (AssertTableUUID(uuid=table.metadata.table_uuid), ref_is(tag, None)),
        (set_tag(tag, member.snapshot_id),),
    )


def _existing(catalog: LakeCatalog, names: Iterable[Identifier]) -> list[Table]:
    return [catalog.load_table(name) for name in names if catalog.table_exists(name)]


def _without(table: Table, outdated: Sequence[str]) -> TableChange:
    tags = {tag_of(release_id): head_of(table, tag_of(release_id)) for release_id in outdated}
    return TableChange(
        table.name(),
        (
            AssertTableUUID(uuid=table.metadata.table_uuid),
            *(ref_is(tag, snapshot_id) for tag, snapshot_id in tags.items()),
        ),
        tuple(remove_ref(tag) for tag in tags),
    )
