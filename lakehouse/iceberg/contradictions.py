"""What a metadata document may not say of itself at once: Java's readers refuse such a table, PyIceberg's do not ask.

Each rule is one that Iceberg's own `TableMetadata` requires when it is read (Iceberg table spec, "Table Metadata
Fields", "Snapshot References" and "Sequence Numbers").
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

_MAIN = "main"
_TOLERATED_MS = 60_000  # between the clocks of two writers, as in Java
_ABSENT = (None, -1)


def contradiction_in(document: Mapping[str, Any]) -> str | None:
    """The first contradiction in a document, as the end of a sentence; None if there is none.

    Args:
        document: the metadata JSON, which PyIceberg could parse.
    """
    return next(_contradictions(document), None)


def _contradictions(document: Mapping[str, Any]) -> Iterator[str]:
    snapshots, references = document.get("snapshots"), document.get("refs")
    if snapshots is None:
        snapshots = []
    if not isinstance(snapshots, list) or not isinstance(references, dict | None):
        yield "`snapshots` is no list, or `refs` no object"
        return
    ids = [snapshot.get("snapshot-id") for snapshot in snapshots]
    yield from _of_snapshots(document, snapshots, ids)
    yield from _of_references(document, references or {}, set(ids))
    yield from _of_times(document)


def _of_snapshots(document: Mapping[str, Any], snapshots: list[Mapping[str, Any]], ids: list[Any]) -> Iterator[str]:
    for snapshot_id, count in Counter(ids).items():
        if type(snapshot_id) is not int:
            yield f"the snapshot id {snapshot_id!r} is no integer"
        if count > 1:
            yield f"{count} snapshots have the id {snapshot_id}"
    last = document.get("last-sequence-number", 0)
    for snapshot in snapshots if document.get("format-version") != 1 else ():
        if (number := snapshot.get("sequence-number") or 0) > last:
            yield f"snapshot {snapshot.get('snapshot-id')} has the sequence number {number}, and the last is {last}"


def _of_references(document: Mapping[str, Any], references: Mapping[str, Any], ids: set[Any]) -> Iterator[str]:
    for name, reference in references.items():
        if reference.get("snapshot-id") not in ids:
            yield f"{name} refers to snapshot {reference.get('snapshot-id')}, which is not in it"
    current, main = document.get("current-snapshot-id"), references.get(_MAIN)
    if current not in _ABSENT and current not in ids:
        yield f"the current snapshot {current} is not in it"
    if main is not None and main.get("type") != "branch":
        yield f"main is a {main.get('type')}, and no branch"
    if main is not None and main.get("snapshot-id") != current:
        yield f"main is at {main.get('snapshot-id')}, and the current snapshot is {current}"
    if main is None and references and current not in _ABSENT:
        yield f"the current snapshot is {current}, and there is no branch main"


def _of_times(document: Mapping[str, Any]) -> Iterator[str]:
    updated = document.get("last-updated-ms", 0)
    for log in ("snapshot-log", "metadata-log"):
        times = [entry.get("timestamp-ms", 0) for entry in document.get(log) or []]
        if any(later < earlier - _TOLERATED_MS for earlier, later in pairwise([*times, updated])):
            yield f"the times in its {log} run backwards by more than a minute"
