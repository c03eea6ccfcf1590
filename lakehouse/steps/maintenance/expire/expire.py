"""Expiry: the snapshots that may go leave the table in one commit, then the files that only they reached go.

The commit requires every reference to be where it was when they were selected. A kill between commit and deletion
leaves files that nobody reaches, which is what orphan removal is for; never a snapshot without its files.
"""

import time
from datetime import UTC, datetime

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import Table
from pyiceberg.table.update import AssertTableUUID

from lakehouse.declarations import Declarations, Expire
from lakehouse.declarations.own_tables.action_effect import ActionEffect, TableMeasure
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import identifier_of, table_name
from lakehouse.iceberg.own_files import is_outside_warehouse, own_files
from lakehouse.iceberg.reachable_files import Reached, delete_files, reached_only_by
from lakehouse.protocol.catalog import LakeCatalog, TableChange, ref_is, remove_ref, remove_snapshots
from lakehouse.protocol.cleanup.other_locations import places_of_others
from lakehouse.protocol.cleanup.shared_files import require_sole
from lakehouse.protocol.errors import UNKNOWN_OUTCOME
from lakehouse.protocol.failpoints import failpoint
from lakehouse.protocol.leases.terms import given_up
from lakehouse.protocol.seals.history import head_of
from lakehouse.retry import NO_ANSWER, OTHERS_FIRST, pause
from lakehouse.steps.maintenance.expire.consumers import can_plan, newly_cut_off
from lakehouse.steps.maintenance.expire.expired import Expired, blocked_words
from lakehouse.steps.maintenance.expire.foreign_rewrites import seal_proven_rewrites
from lakehouse.steps.maintenance.expire.holds import holders_of
from lakehouse.steps.maintenance.expire.snapshot_selection import SnapshotSelection, select_snapshots
from lakehouse.steps.maintenance.measure.history import MAINTAINS, history_of, refs_of
from lakehouse.steps.maintenance.model.action import Action, ActionOutcome, MaintenanceWork
from lakehouse.steps.maintenance.model.state import MeasuredState

_TRIES = 30


class CannotExpire(LakehouseError):
    """Snapshots of a table may not go now."""


class RewriteInFlight(CannotExpire):
    """A rewrite reads from a snapshot of the table."""


class TagLost(LakehouseError):
    """Somebody tagged a snapshot while it was being let go, and the catalog dropped that tag."""


def run(work: MaintenanceWork, action: Action) -> ActionOutcome:
    """Let snapshots go, as the policy says and everybody who holds some allows.

    Raises:
        CannotExpire: the table forbids it, or a rewrite is on its way.
        TagLost: see there; no file was deleted.
        CommitFailedException: others came first too often; nothing was changed.
    """
    policy = work.policy.expire
    if policy is None:
        return ActionOutcome(action=action, result="nothing", message="the table's policy is to keep all snapshots")
    if not work.allow:
        table = work.catalog.load_table(work.base.identifier)
        selection = look(work.catalog, work.declarations, table, policy)
        message = "; ".join((f"{len(selection.snapshot_ids)} snapshots would go", *blocked_words(selection)))
        before = TableMeasure(snapshots=len(table.metadata.snapshots))
        return ActionOutcome(action=action, result="dry_run", before=before, message=message)
    began = time.monotonic()
    proven = seal_proven_rewrites(work)
    expired = expire(work.catalog, work.declarations, work.base.name, policy)
    return ActionOutcome(
        action=action,
        result="failed" if expired.broken else "done",
        before=TableMeasure(files=expired.files + expired.metadata_files, snapshots=expired.before),
        after=TableMeasure(seconds=time.monotonic() - began, snapshots=expired.after),
        message="; ".join(filter(None, (proven, str(expired)))),
        effect=ActionEffect(
            snapshots=len(expired.selection.snapshot_ids), files=expired.files, metadata_files=expired.metadata_files
        ),
    )


def look(
    catalog: LakeCatalog, declarations: Declarations, table: Table, policy: Expire, *, now: datetime | None = None
) -> SnapshotSelection:
    """What may go of a table as it was loaded.

    Raises:
        CannotExpire: the table forbids it, or a rewrite is on its way.
        FilesShared: another entry of the catalog stands on the same files.
        SealBroken: a seal that says how far somebody has read was changed after it was written.
    """
    name = table_name(table)
    if table.properties.get("gc.enabled", "true").lower() == "false":
        raise CannotExpire(
            f"{name} has gc.enabled=false: its files may be another table's as well.",
            remedy="declare maintenance with expire=None, or set gc.enabled if the files are its own",
        )
    require_sole(catalog, table)
    if rewrites := sorted(ref for ref in table.metadata.refs if ref.startswith(MAINTAINS)):
        raise RewriteInFlight(
            f"{name}: maintenance is at work on {', '.join(rewrites)}, and stands on snapshots that might go.",
            remedy="nothing to do: the next look finds it done; if its run has died, housekeeping removes the branch",
        )
    moment = now or datetime.now(UTC)
    state = MeasuredState(
        table=name,
        snapshot_id=head_of(table),
        measured_at=moment,
        history=history_of(table),
        refs=refs_of(table),
        holders=holders_of(catalog, declarations, table, now=moment),
    )
    return select_snapshots(state, policy)


def expire(
    catalog: LakeCatalog, declarations: Declarations, name: str, policy: Expire, *, now: datetime | None = None
) -> Expired:
    """Let snapshots of a table go, and delete what only they reached.

    Raises:
        CannotExpire: the table forbids it, or a rewrite is on its way.
        TagLost: a tag was set at the very moment of the commit, on a catalog that let it go with its snapshot; no
            file was deleted.
        CommitFailedException: others came first too often; nothing was changed.
    """
    could_not = can_plan(catalog, declarations, name)
    identifier = identifier_of(name)
    trouble: Exception | None = None
    for _ in range(_TRIES):
        before = catalog.load_table(identifier)
        selection = look(catalog, declarations, before, policy, now=now)
        if not selection.snapshot_ids and not selection.ended:
            count = len(before.metadata.snapshots)
            return Expired(selection, before=count, after=count)
        try:
            catalog.commit_tables([_change(before, selection)])
        except CommitFailedException as error:
            trouble = error
            pause(OTHERS_FIRST)
            continue
        except UNKNOWN_OUTCOME as error:
            trouble = error
            pause(NO_ANSWER)
            if not _landed(catalog.load_table(identifier), selection):
                continue
        failpoint("expire.between")
        after = catalog.load_table(identifier)
        _require_all_tags(before, after, selection)
        only = _reached(before, after, selection)
        named = [*only.data, *only.metadata]
        others = places_of_others(catalog.entries(), after)  # read anew: a table may have come since
        files = delete_files(after, only.data, others)
        metadata = delete_files(after, only.metadata, others)  # last: until then they say what was to go
        cut_off = newly_cut_off(could_not, can_plan(catalog, declarations, name))
        return Expired(
            selection=selection,
            files=files,
            metadata_files=metadata,
            cut_off=cut_off,
            forsaken=frozenset(given_up(before)),
            elsewhere=len(named) - len(own_files(after, named, others)),
            location=after.location(),
            outside=is_outside_warehouse(catalog, after.location()),
            before=len(before.metadata.snapshots),
            after=len(after.metadata.snapshots),
        )
    raise CommitFailedException(f"{name}: nothing was expired in {_TRIES} tries (last: {trouble})") from trouble


def _change(table: Table, selection: SnapshotSelection) -> TableChange:
    return TableChange(
        table.name(),
        (
            AssertTableUUID(uuid=table.metadata.table_uuid),
            *(ref_is(name, ref.snapshot_id) for name, ref in table.metadata.refs.items()),
        ),
        (
            *(remove_ref(tag) for tag in selection.ended),
            *([remove_snapshots(selection.snapshot_ids)] if selection.snapshot_ids else []),
        ),
    )


def _landed(table: Table, selection: SnapshotSelection) -> bool:
    remaining = {snapshot.snapshot_id for snapshot in table.metadata.snapshots}
    return not remaining & set(selection.snapshot_ids) and not table.metadata.refs.keys() & set(selection.ended)


def _reached(before: Table, after: Table, selection: SnapshotSelection) -> Reached:
    removed = set(selection.snapshot_ids)
    return reached_only_by(
        [snapshot for snapshot in before.metadata.snapshots if snapshot.snapshot_id in removed], before, after
    )


def _require_all_tags(before: Table, after: Table, selection: SnapshotSelection) -> None:
    """Look for a tag that was set after the snapshots were selected: an Iceberg REST server drops it with its snapshot.

    Nobody can require that no other reference exists. The embedded catalog refuses to remove a snapshot with a name.

    Raises:
        TagLost: there was one.
    """
    removed, versions = set(selection.snapshot_ids), [entry.metadata_file for entry in after.metadata.metadata_log]
    known_version = before.metadata_location
    # Where the log is so short that it does not name it any more, all that it has came later.
    start = versions.index(known_version) + 1 if known_version in versions else 0
    for version in versions[start:]:
        document = FromInputFile.table_metadata(after.io.new_input(version))
        for name, ref in document.refs.items():
            if ref.snapshot_id in removed and name not in selection.ended:
                raise TagLost(
                    f"{table_name(after)}: {name} was set on snapshot {ref.snapshot_id} while that was let go.",
                    remedy=f"no file was deleted; read it with the metadata file {version}, and tag a newer snapshot",
                )
