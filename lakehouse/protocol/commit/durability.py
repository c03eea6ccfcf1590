"""Just before a publish: what `main` is about to point at is there, and on the disk.

Between stage and publish somebody's orphan removal or a rule of the storage may take a file, and a power cut takes
what the system has not written yet. Only files of the attempt are looked at: those below its base were published.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse.iceberg.durable_files import local_path, sync_files
from lakehouse.iceberg.manifests.added_files import added_paths
from lakehouse.iceberg.manifests.entry_reader import UNREADABLE, manifests_in
from lakehouse.protocol.commit.staged import Staged
from lakehouse.protocol.errors import StagedFilesLost
from lakehouse.protocol.seals.history import ancestry

_AT_ONCE = 8
_READ_ERRORS = (OSError, *UNREADABLE)


def secure_staged_files(staged: Staged, table: Table) -> None:
    """Require that manifest lists and manifests of the attempt are there; on a disk of this machine, make all durable.

    Data files are looked at where they lie on such a disk; an object store would be asked for each.

    Raises:
        StagedFilesLost: one is gone, torn, or cannot be put on the disk.
    """
    snapshots = list(takewhile(lambda s: s.snapshot_id != staged.base.snapshot_id, ancestry(table, staged.head)))
    lists = [snapshot.manifest_list for snapshot in snapshots]
    manifests = _new_manifests(staged, table.io, snapshots)
    paths = [manifest.manifest_path for manifest in manifests]
    if not any(local_path(path) for path in lists):
        _require_there(staged, table.io, paths)
        return
    ids = {snapshot.snapshot_id for snapshot in snapshots}
    data = {path for manifest in manifests for path in _added_paths(staged, table.io, manifest, ids)}
    try:
        sync_files([*lists, *paths, *data], tops=[table.location()])
    except OSError as error:
        raise _lost(staged, str(error.filename), error) from error


def _new_manifests(staged: Staged, io: FileIO, snapshots: list[Snapshot]) -> list[ManifestFile]:
    """The manifests that the snapshots have written, each once."""
    ids = {snapshot.snapshot_id for snapshot in snapshots}
    manifests: dict[str, ManifestFile] = {}
    for snapshot in snapshots:
        try:
            listed = manifests_in(io, snapshot.manifest_list)
        except _READ_ERRORS as error:
            raise _lost(staged, snapshot.manifest_list, error) from error
        manifests |= {m.manifest_path: m for m in listed if m.added_snapshot_id in ids}
    return list(manifests.values())


def _added_paths(staged: Staged, io: FileIO, manifest: ManifestFile, ids: set[int]) -> Iterator[str]:
    try:
        yield from added_paths(io, manifest, ids)
    except _READ_ERRORS as error:
        raise _lost(staged, manifest.manifest_path, error) from error


def _require_there(staged: Staged, io: FileIO, paths: list[str]) -> None:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for path, there in zip(paths, pool.map(lambda path: io.new_input(path).exists(), paths), strict=True):
            if not there:
                raise _lost(staged, path, FileNotFoundError(path))


def _lost(staged: Staged, path: str, error: Exception) -> StagedFilesLost:
    defect = "is gone" if isinstance(error, FileNotFoundError) else f"cannot be read or synced ({_reason(error)})"
    return StagedFilesLost(
        f"{staged.base.name}: {path.rpartition('/')[2]}, which this attempt staged, {defect}; nothing was published.",
        remedy="run the step again. If it happens again, find out what takes files from the table's folder: a rule of "
        "the storage, another program's orphan removal, a disk that fails",
    )


def _reason(error: Exception) -> str:
    """By its kind alone, or the system's word: the folders of a path may show a partition's value."""
    return (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
