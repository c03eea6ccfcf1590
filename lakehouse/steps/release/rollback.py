"""Rollback: the pointer goes to another release that is still kept, and the record says who did it, and why.

Nothing else moves: the newest release keeps its tags, and stays the newest, so that what was taken back is not released
again before a member is new.
"""

from dataclasses import replace

from lakehouse.errors import LakehouseError
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.release.pointer import PointerRow, load_pointer, members_of, move_pointer, recorded
from lakehouse.steps.release.reading import OpenRelease
from lakehouse.steps.release.statement import KIND_ROLLBACK, PointerStatement
from lakehouse.steps.release.tags.current_tag import follow_pointer


class NothingToMove(LakehouseError):
    """The pointer names that release already."""


def rollback(
    catalog: LakeCatalog, group: str, release_id: str, attempt: Attempt, *, by: str, why: str
) -> PointerStatement:
    """Let the pointer name a release that was made before, or again one that was taken back.

    Args:
        catalog: where the tables live.
        group: the declared group.
        release_id: a release that is kept.
        attempt: in whose name.
        by: who wants it.
        why: for the record.

    Returns:
        What the pointer says now.

    Raises:
        NothingReleased: there is no release yet.
        NothingToMove: it is the current one already.
        ReleaseUnknown: there never was a release of this id.
        ReleaseGone: it is no longer kept, or a member was dropped.
        TagMoved: a tag of it is not where it should be.
        Superseded: somebody else moved the pointer meanwhile.
        CommitFailedException: the pointer is moved, and the tag that follows it is not: others came first too often.
    """
    pointer = load_pointer(catalog, group)
    now = pointer.current
    if release_id == now.current:
        raise NothingToMove(f"{release_id} is the current release of {group} already.", remedy="nothing to do")
    target = OpenRelease(catalog, group, release_id, members_of(pointer, release_id))
    for name in target.tables:
        target.table(name)
    row = recorded(pointer.base.table, release_id)
    assert row is not None
    moved_at = pointer.next_move()
    statement = replace(
        now,
        current=release_id,
        members=target.members,
        moved_ms=int(moved_at.timestamp() * 1000),
    )
    moved = PointerRow(
        id=release_id,
        kind=KIND_ROLLBACK,
        timestamp=moved_at,
        members=target.members,
        runtime_date=row.runtime_date,
        parameters_digest=row.parameters_digest,
        parameters=row.parameters,
        run_id=attempt.run_id,
        root_run_id=attempt.root_run_id or attempt.run_id,
        code_version=attempt.code_version,
        moved_by=by,
        why=why,
    )
    move_pointer(catalog, pointer, attempt, statement, moved)
    follow_pointer(catalog, group)
    return statement
