"""A list of manifests that somebody wrote otherwise: by a commit, or in the place of the one that is there."""

from collections.abc import Callable, Sequence
from pathlib import Path

from pyiceberg.manifest import ManifestFile, write_manifest_list
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.proofs.audit.document import Document, ancestry, edit_document

Alter = Callable[[list[ManifestFile]], Sequence[ManifestFile]]
_NAMES = {
    "partition_spec_id": 2,
    "content": 3,
    "sequence_number": 4,
    "min_sequence_number": 5,
    "added_files_count": 7,
    "existing_files_count": 8,
    "partitions": 13,
}


def set_line(manifest: ManifestFile, attribute: str, value: object) -> ManifestFile:
    """Let the line of a manifest claim something else."""
    manifest[_NAMES[attribute]] = value
    return manifest


def snapshot_of(table: Table) -> Snapshot:
    """The newest."""
    snapshot = table.current_snapshot()
    assert snapshot is not None
    return snapshot


def write_list(table: Table, path: str, alter: Alter) -> None:
    """Write the list of the newest snapshot anew, with other claims."""
    snapshot = snapshot_of(table)
    lines = alter(snapshot.manifests(table.io))
    output = table.io.new_output(path)
    if output.exists():
        table.io.delete(path)
    number = snapshot.sequence_number
    with write_manifest_list(2, output, snapshot.snapshot_id, snapshot.parent_snapshot_id, number, "null") as written:
        written.add_manifests(list(lines))


def relisted(lake: Lake, name: str, folder: Path, alter: Alter) -> int:
    """The same manifests in another list, by a commit that calls itself a rewrite; returns its snapshot."""
    table = lake.load(name)
    snapshot = snapshot_of(table)
    snapshot_id, number = snapshot.snapshot_id + 1, (snapshot.sequence_number or 0) + 1
    path = f"{table.location()}/metadata/{snapshot_id}.avro"
    write_list(table, path, alter)

    def commit(document: Document) -> None:
        last = ancestry(document)[0]
        position = {"snapshot-id": snapshot_id, "parent-snapshot-id": last["snapshot-id"], "sequence-number": number}
        document["snapshots"].append({**last, **position, "manifest-list": path, "summary": {"operation": "replace"}})
        document["refs"]["main"]["snapshot-id"] = document["current-snapshot-id"] = snapshot_id
        document["last-sequence-number"] = number
        document["snapshot-log"].append({"snapshot-id": snapshot_id, "timestamp-ms": last["timestamp-ms"]})

    edit_document(folder / "catalog.db", name, commit)
    return snapshot_id
