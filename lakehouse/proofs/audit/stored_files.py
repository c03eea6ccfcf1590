"""Is every file that a snapshot lists in storage, with as many bytes as it was written with?

Manifests are read, and no data file is opened. What this cannot tell, a scan can: a byte that was changed in its place.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse.iceberg.file_sizes import listed_sizes, stored_sizes
from lakehouse.iceberg.manifests.entry_reader import manifests_in
from lakehouse.iceberg.names import table_name
from lakehouse.protocol.damage.damage import Damage
from lakehouse.protocol.damage.inspection import damages


class _Listed(NamedTuple):
    """What metadata say of a file."""

    subject: str
    size: int
    kept: str


def stored_otherwise(table: Table, kept_by: Mapping[int, str]) -> list[Damage]:
    """The files that storage lacks, or has with another size.

    Args:
        table: as it was loaded.
        kept_by: snapshot → what keeps it, for the message; a file of several is named once, with the first.

    Raises:
        OSError: the store refused to answer.
    """
    listed, known = dict[str, _Listed](), set[str]()
    unreadable: dict[str, Damage] = {}
    for snapshot_id, kept in kept_by.items():
        if (snapshot := table.metadata.snapshot_by_id(snapshot_id)) is None:
            continue
        try:
            listed |= _files_of(table, snapshot, kept, known)
        except Exception:
            # A cut manifest fails in as many ways as there are places to cut it.
            if not (broken := damages(table, snapshot_id, depth="lists")):
                raise
            for damage in broken:
                unreadable.setdefault(damage.path, replace(damage, message=f"{damage.message} {kept}".rstrip()))
    sizes = stored_sizes(table.io, table.location(), listed)
    differing = (_difference(table, path, file, sizes[path]) for path, file in listed.items())
    return [*unreadable.values(), *(damage for damage in differing if damage is not None)]


def _files_of(table: Table, snapshot: Snapshot, kept: str, known: set[str]) -> dict[str, _Listed]:
    """Path → file, of those of a snapshot that are not known yet."""
    files: dict[str, _Listed] = {}
    for manifest in manifests_in(table.io, snapshot.manifest_list):
        if manifest.manifest_path in known:
            continue
        files[manifest.manifest_path] = _Listed("manifest", manifest.manifest_length, kept)
        for path, size, is_data in listed_sizes(table.io, manifest.manifest_path):
            if path not in known:
                files[path] = _Listed("data file" if is_data else "delete file", size, kept)
    known |= files.keys()
    return files


def _difference(table: Table, path: str, listed: _Listed, stored: int | None) -> Damage | None:
    if stored == listed.size:
        return None
    name = table_name(table)
    # By its name alone: the folders of a path may show a partition's value.
    file = f"{name}: {listed.subject} {path.rpartition('/')[2]}"
    if stored is None:
        message = f"{file} is in the table, and not in storage. {listed.kept}"
        return Damage("missing_file", name, path, message.rstrip())
    message = f"{file} has {stored:,} bytes, and {listed.size:,} are listed: it was written anew, or cut. {listed.kept}"
    return Damage("changed_file", name, path, message.rstrip())
