"""Measures a table from its metadata alone, no deeper than there is a reason to.

1. Totals: the metadata document. Where there are enough files that there could be too many manifests, also the list of
   manifests, which is one file.
2. Partitions: the manifests, where the totals say that files may be too small, too large, or deleted from; and once a
   day, for small files of quiet partitions are lost in an average, and their appends were long ago.
3. Files: which data files deletes apply to, in partitions that have some.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from pyiceberg.table import Table as IcebergTable
from pyiceberg.table.snapshots import Snapshot

from lakehouse.declarations import Declarations, Maintenance, Rewrite, Table
from lakehouse.iceberg.manifests.manifest_files import ManifestCache
from lakehouse.iceberg.names import table_name
from lakehouse.protocol.seals.history import head_of, summary_of
from lakehouse.steps.maintenance.measure.cadence import cadence_of
from lakehouse.steps.maintenance.measure.history import created_at, history_of, moment, refs_of
from lakehouse.steps.maintenance.measure.measured_partitions import counted, measured_partitions
from lakehouse.steps.maintenance.measure.touched import with_touched_files
from lakehouse.steps.maintenance.measure.traits import traits_of
from lakehouse.steps.maintenance.model.state import Cadence, Depth, MeasuredState, Remembered, SnapshotHold, Totals

COUNTED_EVERY = timedelta(days=1)


def measure(
    table: IcebergTable,
    declared: Table,
    declarations: Declarations,
    *,
    now: datetime,
    depth: Depth = Depth.TOTALS,
    holders: tuple[SnapshotHold, ...] = (),
    remembered: Remembered | None = None,
    cache: ManifestCache | None = None,
) -> MeasuredState:
    """Measure a table as it was loaded.

    Args:
        table: the table.
        declared: its declaration.
        declarations: all of them: who writes and reads the table.
        now: the moment of the measurement, the only time that a decision from it knows.
        depth: the tier that is read in any case.
        holders: who needs old snapshots.
        remembered: what earlier maintenance has noted.
        cache: manifests that were read before.

    Raises:
        SealBroken: the newest seal was changed.
    """
    cache = cache or ManifestCache()
    history = history_of(table)
    snapshot = table.metadata.snapshot_by_id(head) if (head := head_of(table)) is not None else None
    state = MeasuredState(
        table=table_name(table),
        uuid=str(table.metadata.table_uuid),
        document=table.metadata_location.rpartition("/")[2],
        snapshot_id=head,
        updated_at=moment(table.metadata.last_updated_ms),
        created_at=created_at(table),
        measured_at=now,
        totals=_totals(table, snapshot),
        history=history,
        refs=refs_of(table),
        cadence=cadence_of(table, history),
        traits=traits_of(table, declared, declarations),
        holders=holders,
        remembered=remembered or Remembered(),
    )
    if snapshot is None:
        return state
    return _deeper(state, table, snapshot, declared, depth, cache)


def _deeper(
    state: MeasuredState, table: IcebergTable, snapshot: Snapshot, declared: Table, depth: Depth, cache: ManifestCache
) -> MeasuredState:
    policy, totals = declared.maintenance, state.totals
    because = reason_to_look(state, policy)
    if "total-data-files" not in summary_of(snapshot):
        because = "the newest snapshot does not say how many files there are"
    partitions_wanted = depth >= Depth.PARTITIONS or bool(because)
    counts_manifests = policy.manifests is not None and totals.files + totals.delete_files >= policy.manifests.min_count
    if partitions_wanted or counts_manifests:
        manifests = cache.manifests(table.io, snapshot)
        sizes = sum(manifest.manifest_length for manifest in manifests)
        state = replace(state, totals=replace(totals, manifests=len(manifests), manifest_bytes=sizes))
    if not partitions_wanted:
        return state
    partitions = measured_partitions(table, declared, snapshot, state, cache)
    state = replace(
        state,
        depth=Depth.PARTITIONS,
        deeper_because=because or "somebody asked",
        totals=counted(state.totals, partitions),
        partitions=partitions,
    )
    if depth >= Depth.FILES or any(partition.delete_files for partition in partitions):
        state = replace(
            state, depth=Depth.FILES, partitions=with_touched_files(table, declared, snapshot, partitions, cache)
        )
    return state


def reason_to_look(state: MeasuredState, policy: Maintenance) -> str:
    """Why the manifests are worth reading; empty where they are not."""
    rewrite, totals = policy.rewrite, state.totals
    if policy.deduplicate is not None:
        return "partitions may be closed, and then hold each key once"
    if rewrite is None:
        return ""
    if totals.delete_files:
        return f"there are {totals.delete_files} delete files"
    if rewrite.to_format is not None:
        return f"files of another format than {rewrite.to_format} are to be written anew"
    return _sizes_to_look_at(totals, state.cadence, rewrite) or _not_counted(state, rewrite)


def _sizes_to_look_at(totals: Totals, cadence: Cadence, rewrite: Rewrite) -> str:
    if not totals.files:
        return ""
    mean = totals.bytes / totals.files
    if mean > rewrite.max_file_size:
        return f"files are too large: {mean:,.0f} bytes on average"
    if totals.files < rewrite.min_input_files:
        return ""
    if mean < rewrite.min_file_size:
        return f"files are too small: {totals.files} of {mean:,.0f} bytes on average"
    appended = cadence.appends_since_rewrite
    if cadence.append_bytes and cadence.append_files and (appended is None or appended >= rewrite.min_input_files):
        added = cadence.append_bytes / cadence.append_files
        if added < rewrite.min_file_size:
            return f"the newest files are too small: {added:,.0f} bytes on average"
    return ""


def _not_counted(state: MeasuredState, rewrite: Rewrite) -> str:
    counted_at = state.remembered.counted_at
    if state.totals.files < rewrite.min_input_files or (
        counted_at is not None and state.measured_at < counted_at + COUNTED_EVERY
    ):
        return ""
    return "the files of each partition were not counted for a day"


def _totals(table: IcebergTable, snapshot: Snapshot | None) -> Totals:
    summary = summary_of(snapshot) if snapshot is not None else {}
    return Totals(
        files=int(summary.get("total-data-files", 0)),
        bytes=int(summary.get("total-files-size", 0)),
        records=int(summary.get("total-records", 0)),
        delete_files=int(summary.get("total-delete-files", 0)),
        position_deletes=int(summary.get("total-position-deletes", 0)),
        equality_deletes=int(summary.get("total-equality-deletes", 0)),
        snapshots=len(table.metadata.snapshots),
        document_bytes=len(table.io.new_input(table.metadata_location)),
    )
