"""Edits a table's metadata document in place of PyIceberg's model, so that nothing in it is lost.

PyIceberg's own `commit_table` parses the document into a model and writes the model back: retention of `main`,
encryption keys and every field it does not know are gone afterwards. Here snapshot and reference changes are made on
the JSON itself (Iceberg table spec, "Table Metadata Fields"); everything else in the document stays as it was.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import structlog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertCurrentSchemaId,
    AssertRefSnapshotId,
    AssertTableUUID,
    RemoveSnapshotRefUpdate,
    RemoveSnapshotsUpdate,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
    update_table_metadata,
)

from lakehouse.iceberg.parsed_snapshots import parsed_log, parsed_snapshots

Document = dict[str, Any]

MAIN = "main"
# What schema, partition, order and property updates may touch; copied over from PyIceberg's result, key by key.
_MODELLED_KEYS = (
    "format-version",
    "location",
    "properties",
    "schemas",
    "current-schema-id",
    "last-column-id",
    "partition-specs",
    "default-spec-id",
    "last-partition-id",
    "sort-orders",
    "default-sort-order-id",
    "statistics",
    "partition-statistics",
)
_PREVIOUS_VERSIONS, _DEFAULT_PREVIOUS_VERSIONS = "write.metadata.previous-versions-max", 100
_log = structlog.get_logger(__name__)
_KNOWN_BLOBS = {"apache-datasketches-theta-v1", "deletion-vector-v1"}


def edited(document: Document, location: str, updates: Sequence[TableUpdate], now_ms: int) -> Document:
    """Return `document` (stored at `location`) with the updates applied, as the next version.

    Args:
        document: the metadata JSON, parsed.
        location: where that JSON is stored; it becomes the newest entry of the metadata log.
        updates: PyIceberg's REST update models.
        now_ms: our clock, in milliseconds since the epoch.

    Raises:
        CommitFailedException: a snapshot was prepared from an older state of the table; prepare it again.
    """
    result = dict(document)
    written_ms = _monotonic(document, now_ms)
    modelled: list[TableUpdate] = []
    for update in updates:
        editor = _EDITORS.get(type(update))
        if editor is None:
            modelled.append(update)
        else:
            editor(result, update, written_ms)
    if modelled:
        _apply_modelled(document, result, tuple(modelled))
    _log_previous(document, location, result)
    result["last-updated-ms"] = written_ms
    return result


def parsed(document: Document) -> TableMetadata:
    """Parse a document into PyIceberg's model, leaving the document alone (the parser fills in defaults).

    Statistics with a kind of blob that PyIceberg does not know are left out, or it would refuse the whole table.
    """
    statistics = [s for s in document.get("statistics") or [] if _is_known(s)]
    snapshots = parsed_snapshots(document.get("snapshots") or [])
    parts: Document = {"snapshots": snapshots, "statistics": statistics}
    if log := document.get("snapshot-log"):
        parts["snapshot-log"] = parsed_log(log)
    return TableMetadataUtil.parse_obj({**document, **parts})


def _is_known(statistics: Document) -> bool:
    return all(blob.get("type") in _KNOWN_BLOBS for blob in statistics.get("blob-metadata") or [])


def references(document: Document) -> dict[str, Document]:
    """Branches and tags by name; a document of format 1 may know `main` only as its current snapshot."""
    refs = dict(cast("dict[str, Document]", document.get("refs") or {}))
    current = document.get("current-snapshot-id")
    if MAIN not in refs and current not in (None, -1):
        refs[MAIN] = {"snapshot-id": current, "type": "branch"}
    return refs


def require(document: Document, requirements: Sequence[TableRequirement]) -> None:
    """Check a commit's requirements against the document.

    Raises:
        CommitFailedException: one does not hold.
    """
    refs, metadata = references(document), None
    for requirement in requirements:
        if isinstance(requirement, AssertRefSnapshotId):
            snapshot_id = refs.get(requirement.ref, {}).get("snapshot-id")
            if snapshot_id != requirement.snapshot_id:
                raise CommitFailedException(
                    f"{requirement.ref} is at {snapshot_id}, expected {requirement.snapshot_id}"
                )
        elif not _plainly_holds(requirement, document):
            metadata = metadata or parsed(document)
            requirement.validate(metadata)


def _plainly_holds(requirement: TableRequirement, document: Document) -> bool:
    """Whether the JSON itself says so; where it does not, the model decides."""
    match requirement:
        case AssertTableUUID():
            return str(requirement.uuid) == document.get("table-uuid")
        case AssertCurrentSchemaId():
            return requirement.current_schema_id == document.get("current-schema-id")
        case _:
            return False


def _monotonic(document: Document, now_ms: int) -> int:
    # Java refuses to read a log that runs backwards, so a slow clock must not write an earlier time.
    log = cast("list[Document]", document.get("snapshot-log") or [])
    return max(now_ms, int(document.get("last-updated-ms", 0)), int(log[-1]["timestamp-ms"]) if log else 0)


def _add_snapshot(document: Document, update: AddSnapshotUpdate, written_ms: int) -> None:
    snapshot = update.snapshot.model_dump(mode="json", by_alias=True, exclude_none=True)
    snapshots = cast("list[Document]", document.get("snapshots") or [])
    if snapshot["snapshot-id"] in [s["snapshot-id"] for s in snapshots]:
        raise CommitFailedException(f"Snapshot {snapshot['snapshot-id']} is already in the table")
    sequence_number = int(snapshot.get("sequence-number") or 0)
    if (
        document["format-version"] >= 2
        and snapshot.get("parent-snapshot-id") is not None
        and sequence_number <= int(document.get("last-sequence-number", 0))
    ):
        raise CommitFailedException(f"Sequence number {sequence_number} was taken by another commit meanwhile")
    snapshot["timestamp-ms"] = max(int(snapshot["timestamp-ms"]), written_ms)
    document["snapshots"] = [*snapshots, snapshot]
    if document["format-version"] >= 2:
        document["last-sequence-number"] = max(sequence_number, int(document.get("last-sequence-number", 0)))


def _set_ref(document: Document, update: SetSnapshotRefUpdate, written_ms: int) -> None:
    if update.snapshot_id not in [s["snapshot-id"] for s in document.get("snapshots") or []]:
        raise CommitFailedException(
            f"Snapshot {update.snapshot_id} is not in the table, so {update.ref_name} cannot name it"
        )
    refs = references(document)
    previous = refs.get(update.ref_name, {})
    # Retention that somebody set on the reference stays, unless the update brings its own.
    retention = {key: value for key, value in previous.items() if key not in ("snapshot-id", "type")}
    update_retention = {
        "max-ref-age-ms": update.max_ref_age_ms,
        "max-snapshot-age-ms": update.max_snapshot_age_ms,
        "min-snapshots-to-keep": update.min_snapshots_to_keep,
    }
    refs[update.ref_name] = {
        "snapshot-id": update.snapshot_id,
        "type": str(update.type),
        **retention,
        **{key: value for key, value in update_retention.items() if value is not None},
    }
    document["refs"] = refs
    if update.ref_name == MAIN and previous.get("snapshot-id") != update.snapshot_id:
        document["current-snapshot-id"] = update.snapshot_id
        log = cast("list[Document]", document.get("snapshot-log") or [])
        document["snapshot-log"] = [*log, {"snapshot-id": update.snapshot_id, "timestamp-ms": written_ms}]


def _remove_ref(document: Document, update: RemoveSnapshotRefUpdate, _: int) -> None:
    refs = references(document)
    refs.pop(update.ref_name, None)
    document["refs"] = refs
    if update.ref_name == MAIN:
        document["current-snapshot-id"] = None


def _remove_snapshots(document: Document, update: RemoveSnapshotsUpdate, _: int) -> None:
    removed_ids = set(update.snapshot_ids)
    refs = references(document)
    ref_names = {name for name, ref in refs.items() if ref["snapshot-id"] in removed_ids}
    if ref_names:
        raise CommitFailedException(f"Snapshots named by {sorted(ref_names)} cannot be removed")
    document["snapshots"] = [s for s in document.get("snapshots") or [] if s["snapshot-id"] not in removed_ids]
    # As Java does: history before a removed entry can no longer be followed, so it goes as well.
    log = cast("list[Document]", document.get("snapshot-log") or [])
    last_removed = max((i for i, entry in enumerate(log) if entry["snapshot-id"] in removed_ids), default=-1)
    document["snapshot-log"] = log[last_removed + 1 :]
    for key in ("statistics", "partition-statistics"):
        if document.get(key):
            document[key] = [s for s in document[key] if s["snapshot-id"] not in removed_ids]


def _apply_modelled(previous: Document, result: Document, updates: tuple[TableUpdate, ...]) -> None:
    metadata = parsed(previous)
    old_values = metadata.model_dump(mode="json", by_alias=True)
    new_values = update_table_metadata(metadata, updates).model_dump(mode="json", by_alias=True)
    for key in _MODELLED_KEYS:
        # What the updates left alone stays as it was written, also what the model does not know of it.
        if new_values.get(key) is not None and new_values[key] != old_values.get(key):
            unknown = [s for s in previous.get(key) or [] if not _is_known(s)] if key == "statistics" else []
            result[key] = [*unknown, *new_values[key]] if unknown else new_values[key]


def _log_previous(previous: Document, location: str, result: Document) -> None:
    log = cast("list[Document]", previous.get("metadata-log") or [])
    log = [*log, {"metadata-file": location, "timestamp-ms": previous["last-updated-ms"]}]
    properties = cast("dict[str, str]", result.get("properties") or {})
    result["metadata-log"] = log[-_previous_versions(properties) :]


def _previous_versions(properties: dict[str, str]) -> int:
    """How many older documents the log names; a commit does not fail for a property that says no number."""
    value = properties.get(_PREVIOUS_VERSIONS, str(_DEFAULT_PREVIOUS_VERSIONS))
    try:
        return max(1, int(value))
    except ValueError:
        _log.warning("property_not_understood", property=_PREVIOUS_VERSIONS, instead=_DEFAULT_PREVIOUS_VERSIONS)
        return _DEFAULT_PREVIOUS_VERSIONS


_EDITORS: dict[type, Callable[[Document, Any, int], None]] = {
    AddSnapshotUpdate: _add_snapshot,
    SetSnapshotRefUpdate: _set_ref,
    RemoveSnapshotRefUpdate: _remove_ref,
    RemoveSnapshotsUpdate: _remove_snapshots,
}
