"""Snapshots and references of a metadata document that contradict each other.

Iceberg table spec, "Snapshots", "Snapshot References" and "Sequence Numbers".
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

_MAIN = "main"
_ABSENT = (None, -1)


def contradictions_of_history(document: Mapping[str, Any]) -> Iterator[str]:
    """Each as the end of a sentence."""
    snapshots = document.get("snapshots")
    if not isinstance(snapshots, list | None):
        yield "`snapshots` is no list"
        return
    snapshots = snapshots or []
    ids = [snapshot.get("snapshot-id") for snapshot in snapshots]
    yield from _of_snapshots(document, snapshots, ids)
    yield from _of_parents({snapshot.get("snapshot-id"): snapshot for snapshot in snapshots})
    yield from _of_references(document, document.get("refs") or {}, set(ids))


def _of_snapshots(document: Mapping[str, Any], snapshots: list[Mapping[str, Any]], ids: list[Any]) -> Iterator[str]:
    if len({*ids}) < len(ids):
        for snapshot_id, count in Counter(ids).items():
            if count > 1:
                yield f"{count} snapshots have the id {snapshot_id}"
    last = document.get("last-sequence-number", 0) if document.get("format-version") != 1 else 0  # which has none
    numbers = [snapshot.get("sequence-number") or 0 for snapshot in snapshots]
    for number, snapshot in zip(numbers, snapshots, strict=True) if max(numbers, default=0) > last else ():
        if number > last:
            yield f"snapshot {snapshot.get('snapshot-id')} has the sequence number {number}, and the last is {last}"


def _of_parents(by_id: Mapping[Any, Mapping[str, Any]]) -> Iterator[str]:
    """A snapshot that is its own ancestor, or that has an earlier sequence number than its parent."""
    numbers = dict[Any, int]()  # of the snapshots that were passed
    in_order = True  # as writers leave them, so that there is no circle to look for
    for snapshot_id, snapshot in by_id.items():
        parent_id, number = snapshot.get("parent-snapshot-id"), snapshot.get("sequence-number") or 0
        if (of_parent := numbers.get(parent_id)) is None and parent_id in by_id:
            in_order = False
            of_parent = by_id[parent_id].get("sequence-number") or 0
        if of_parent is not None and of_parent > number:
            yield f"snapshot {snapshot_id} has an earlier sequence number than its parent {parent_id}"
        numbers[snapshot_id] = number
    if not in_order:
        yield from _circles(by_id)


def _circles(by_id: Mapping[Any, Mapping[str, Any]]) -> Iterator[str]:
    ended = set[Any]()  # whose way to the root is known to end
    for begin in by_id:
        way, step = dict[Any, None](), begin
        while step in by_id and step not in ended:
            if step in way:
                yield f"snapshot {step} is its own ancestor"
                break
            way[step] = None
            step = by_id[step].get("parent-snapshot-id")
        ended |= way.keys()


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
