"""Snapshots of metadata documents, each parsed once in a process: every commit writes all of them again as they were.

A table that keeps 850 snapshots, as readers and releases may ask of it, is read nine times for a commit; to parse what
was parsed before was nine tenths of that.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from pyiceberg.exceptions import ValidationError
from pyiceberg.table.snapshots import Snapshot, SnapshotLogEntry

from lakehouse.iceberg.contradictions.values import odd_snapshot

_MOST = 20_000
# Snapshot id → the JSON that was parsed, and what it became. Ids are random, and the same object decides, not the id.
_parsed: dict[int, tuple[dict[str, Any], Snapshot]] = {}


def parsed_snapshots(documents: Sequence[dict[str, Any]]) -> list[Snapshot]:
    """Snapshots of a document, in their order; nobody may change them.

    Args:
        documents: the objects in `snapshots` (Iceberg table spec, "Snapshots").

    Raises:
        pydantic.ValidationError: one of them is no snapshot.
        pyiceberg.exceptions.ValidationError: one has a value of another type than Java takes.
    """
    if len(_parsed) > _MOST:
        _parsed.clear()
    return [_parse(document) for document in documents]


def parsed_log(entries: Any) -> Any:
    """The entries of a document's `snapshot-log`; what is not such a list is left to the parser of the document."""
    return [_parse_entry(entry) for entry in entries] if isinstance(entries, list) else entries


def _parse_entry(entry: Any) -> Any:
    match entry:
        case {"snapshot-id": int(snapshot_id), "timestamp-ms": int(timestamp_ms)}:
            return _log_entry(snapshot_id, timestamp_ms)
        case _:
            return entry


@lru_cache(_MOST)
def _log_entry(snapshot_id: int, timestamp_ms: int) -> SnapshotLogEntry:
    return SnapshotLogEntry.model_validate({"snapshot-id": snapshot_id, "timestamp-ms": timestamp_ms})


def _parse(document: dict[str, Any]) -> Snapshot:
    snapshot_id = document.get("snapshot-id", -1)
    known = _parsed.get(snapshot_id)
    if known is not None and known[0] is document:
        return known[1]
    snapshot = Snapshot.model_validate(document)
    if (odd := odd_snapshot(document)) is not None:
        raise ValidationError(odd)
    _parsed[snapshot_id] = (document, snapshot)
    return snapshot
