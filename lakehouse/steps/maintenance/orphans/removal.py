"""Orphan removal in two looks: what no metadata knows is remembered, and deleted only if a later look says the same.

The story of a look: list the files; load the table *then*, so that what is committed in between is known; read what
every version of the metadata knows; what is left and old enough is a candidate. A candidate of an earlier look goes if
more time has passed than any run was ever seen to take. That it goes is written down first.
"""

import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import structlog
from pyiceberg.table import Table

from lakehouse.declarations import Orphans
from lakehouse.declarations.own_tables.action_effect import ActionEffect, TableMeasure
from lakehouse.iceberg.locations import place_of
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.cleanup.shared_files import require_sole
from lakehouse.protocol.failpoints import failpoint
from lakehouse.protocol.seals.attempt import BRANCH_PREFIX, Attempt, attempt_in
from lakehouse.steps.maintenance.measure.longest_run import longest_run
from lakehouse.steps.maintenance.model.action import Action, ActionOutcome, MaintenanceWork
from lakehouse.steps.maintenance.model.partitions import hidden_fields
from lakehouse.steps.maintenance.orphans.known_files import Known, known_files
from lakehouse.steps.maintenance.orphans.listing import ListedFile, Listing, list_files
from lakehouse.steps.maintenance.orphans.location import neighbours_below, require_own_place
from lakehouse.steps.maintenance.orphans.orphan_log import Event, Note, OrphanHistory, note, recall

LEAST = timedelta(hours=24)
_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Look:
    """What one look has found.

    Args:
        candidates: orphans that no look has found before.
        reprieved: what an earlier look took for an orphan, and something knows again.
        doomed: orphans of an earlier look, long enough ago.
        waiting: orphans of an earlier look, not long enough ago.
        listed: how many files there are.
        wait: how far apart two looks have to be.
    """

    candidates: tuple[ListedFile, ...]
    reprieved: tuple[ListedFile, ...]
    doomed: tuple[ListedFile, ...]
    waiting: tuple[ListedFile, ...]
    listed: int
    wait: timedelta

    def __str__(self) -> str:
        return (
            f"{self.listed} files, of which {len(self.candidates)} are orphans at the first look, {len(self.waiting)} "
            f"at a second one within {self.wait}, {len(self.doomed)} after that; {len(self.reprieved)} are known again"
        )


def run(work: MaintenanceWork, action: Action, *, now: datetime | None = None) -> ActionOutcome:
    """Look at a table's files: remember orphans, and delete those of an earlier look if the policy says so.

    Raises:
        CannotLook: nobody could say whose the files are.
        FilesShared: another entry of the catalog stands on the same files.
        MetadataUnreadable: nobody can say which files are known.
        NoSuchTableError: `lakehouse.orphans` does not exist.
    """
    policy = work.policy.orphans
    if policy is None:
        return ActionOutcome(action=action, result="nothing", message="the table's policy is not to look for orphans")
    moment, began = now or datetime.now(UTC), time.monotonic()
    listing = list_files(work.base.table.io, work.base.table.location())
    failpoint("orphans.listed")
    table = work.catalog.load_table(work.base.identifier)
    require_own_place(work.base.table, table)
    require_sole(work.catalog, table)
    fields = {field.name for spec in table.specs().values() for field in spec.fields}
    listing = replace(listing, shown_fields=frozenset(fields - hidden_fields(table, work.declared)))
    memory = recall(work.catalog, work.base.uuid)
    known_longest = longest_run(table, moment, dagster=work.longest_run, noted=memory.longest_run)
    longest = known_longest.wait
    neighbours = neighbours_below(work.catalog, table)
    known = known_files(table, listing, neighbours, settled_before=moment - max(LEAST, policy.older_than))
    result = look(listing, known, memory, policy, now=moment, longest=longest, spared=(*neighbours, *_alive(table)))
    deletes = policy.delete and work.allow
    if work.allow:
        _remember(
            work.catalog, work.attempt, table, listing, result, deletes=deletes, timestamp=moment, longest=longest
        )
    failpoint("orphans.between")
    deleted = _delete(listing, result.doomed) if deletes else 0
    message = "; ".join(filter(None, (str(result), known_longest.doubt)))
    work.inform(f"{work.base.name}: {message}")
    return ActionOutcome(
        action=action,
        result="done" if deletes else "dry_run",
        before=TableMeasure(files=len(listing.files)),
        after=TableMeasure(files=len(listing.files) - deleted, seconds=time.monotonic() - began),
        message=message,
        effect=ActionEffect(
            candidates=len(result.candidates),
            reprieved=len(result.reprieved),
            waiting=len(result.waiting),
            orphans=len(result.doomed),
            deleted=deleted,
            bytes=sum(file.bytes for file in result.doomed) if deletes else 0,
        ),
    )


def look(
    listing: Listing,
    known: Known,
    memory: OrphanHistory,
    policy: Orphans,
    *,
    now: datetime,
    longest: timedelta,
    spared: Collection[str] = (),
) -> Look:
    """Judge every listed file; decides, and does nothing.

    Args:
        listing: all files at the location.
        known: names that any version of the metadata knows.
        memory: what earlier looks have found.
        policy: how old a file has to be.
        now: when the files were listed.
        longest: the longest run that is known.
        spared: parts of paths that belong to others: below a neighbour's location, or of an attempt that may live.
    """
    wait = max(LEAST, policy.older_than, longest)
    verdicts: dict[str, list[ListedFile]] = {kind: [] for kind in ("candidate", "reprieved", "doomed", "waiting")}
    for file in listing.files:
        noted = memory.orphans.get(listing.shown(file.path))
        if known.knows(file.path):
            if noted is not None:
                verdicts["reprieved"].append(file)
            continue
        location = place_of(listing.address(file.path))
        if any(part in location for part in spared) or not _is_old(file, now, policy.older_than):
            continue
        if noted is None or not noted.is_of(file):
            verdicts["candidate"].append(file)
        else:
            verdicts["doomed" if now - noted.since > wait else "waiting"].append(file)
    return Look(
        candidates=tuple(verdicts["candidate"]),
        reprieved=tuple(verdicts["reprieved"]),
        doomed=tuple(verdicts["doomed"]),
        waiting=tuple(verdicts["waiting"]),
        listed=len(listing.files),
        wait=wait,
    )


def _is_old(file: ListedFile, now: datetime, older_than: timedelta) -> bool:
    """Whether a file is old enough; one whose age nobody knows never is."""
    return file.modified_at is not None and file.modified_at < now - max(LEAST, older_than)


def _alive(table: Table) -> set[str]:
    """Ids of attempts that have a branch, and so may yet name files of theirs."""
    return {attempt_in(name) for name in table.metadata.refs if name.startswith(BRANCH_PREFIX)} - {""}


def _remember(
    catalog: LakeCatalog,
    attempt: Attempt,
    table: Table,
    listing: Listing,
    result: Look,
    *,
    deletes: bool,
    timestamp: datetime,
    longest: timedelta,
) -> None:
    events: tuple[tuple[Event, tuple[ListedFile, ...]], ...] = (
        ("reprieved", result.reprieved),
        ("candidate", result.candidates),
        ("deleted", result.doomed if deletes else ()),
    )
    notes = [Note(listing.shown(file.path), file, event) for event, files in events for file in files]
    note(catalog, attempt, table, notes, timestamp=timestamp, longest_run=longest)


def _delete(listing: Listing, doomed: tuple[ListedFile, ...]) -> int:
    deleted = 0
    for file in doomed:
        try:
            listing.delete(file.path)
        except OSError as error:
            # It stays an orphan, so a later look tries again.
            _log.warning("orphan_not_deleted", file=file.path.rpartition("/")[2], reason=type(error).__name__)
            continue
        deleted += 1
    return deleted
