"""Which files snapshots reach, and which of them nobody reaches once some snapshots are gone.

What is asked is never "is this file in use" but "what did these snapshots reach that no other one does": a file that
none of them knew, such as one of a run that has not committed yet, cannot come into it.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import structlog
from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse.iceberg.locations import place_of
from lakehouse.iceberg.manifests.entry_reader import UNREADABLE, live_paths, manifests_in
from lakehouse.iceberg.names import table_name
from lakehouse.iceberg.own_files import own_files

_log = structlog.get_logger(__name__)
_AT_ONCE = 8


@dataclass(frozen=True)
class Reached:
    """Files by their paths.

    Args:
        data: data and delete files.
        metadata: manifests, lists of manifests, and statistics.
    """

    data: frozenset[str] = frozenset()
    metadata: frozenset[str] = frozenset()


def reached_only_by(removed: Sequence[Snapshot], previous: Table, current: Table) -> Reached:
    """What snapshots that were removed from a table have reached, and no snapshot that is left does.

    Args:
        removed: the snapshots.
        previous: the table with them.
        current: the table without them, loaded after they were removed: whatever was committed meanwhile counts.
    """
    lists = _without(
        _by_location(snapshot.manifest_list for snapshot in removed),
        (s.manifest_list for s in current.metadata.snapshots),
    )
    kept_manifests = list(dict.fromkeys(manifest.manifest_path for manifest in _manifests(current)))
    removed_manifests = (
        manifest.manifest_path for path in lists.values() for manifest in _listed_manifests(previous.io, path)
    )
    unreached = _without(_by_location(removed_manifests), kept_manifests)
    data = _by_location(path for manifest in unreached.values() for path in _live_paths(previous.io, manifest))
    for manifest in reversed(kept_manifests):  # where rows were arranged anew, the newest manifests name most of them
        if not data:
            break
        data = _without(data, live_paths(current.io, manifest))
    # Whoever names statistics may name any file: theirs are beside the documents, and none of what is needed there.
    folder, location = place_of(current.metadata_location.rpartition("/")[0]), place_of(current.location())
    beside = (
        path
        for path in _statistics(previous)
        if place_of(path).startswith(folder) or not place_of(path).startswith(location)
    )
    documents = (current.metadata_location, *(entry.metadata_file for entry in current.metadata.metadata_log))
    kept_lists = (snapshot.manifest_list for snapshot in current.metadata.snapshots)
    needed = (*_statistics(current), *kept_manifests, *kept_lists, *documents)
    statistics = _without(_by_location(beside), needed)
    return Reached(frozenset(data.values()), frozenset((*lists.values(), *unreached.values(), *statistics.values())))


def needed_files(table: Table) -> Iterator[str]:
    """All files without which a table cannot be read, its document first; some may be named several times.

    Raises:
        FileNotFoundError: a list of manifests, or a manifest, is gone.
    """
    yield table.metadata_location
    yield from (snapshot.manifest_list for snapshot in table.metadata.snapshots)
    for path in dict.fromkeys(manifest.manifest_path for manifest in _manifests(table)):
        yield path
        yield from live_paths(table.io, path)
    yield from _statistics(table)


def older_documents(table: Table) -> Iterator[str]:
    """The documents in a table's metadata log. No reader needs one, and any commit may delete the oldest."""
    return (entry.metadata_file for entry in table.metadata.metadata_log)


def delete_files(table: Table, paths: Collection[str], others: Collection[str]) -> int:
    """Delete those of some files that are a table's own, see `own_files`; returns how many went.

    One that is gone already is as it should be. One that cannot be deleted is left for orphan removal: nobody reaches
    it, so it harms nobody.
    """

    def delete(path: str) -> bool:
        try:
            table.io.delete(path)
        except FileNotFoundError:
            return False
        except OSError as error:
            # By its name alone: the folders of a path, and so the store's words, may show a partition's value.
            _log.warning("file_not_deleted", file=path.rpartition("/")[2], reason=type(error).__name__)
            return False
        return True

    own_paths = own_files(table, paths, others)
    if elsewhere := len(paths) - len(own_paths):
        _log.warning("files_elsewhere_kept", table=table_name(table), files=elsewhere, location=table.location())
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return sum(pool.map(delete, own_paths))


def _by_location(paths: Iterable[str]) -> dict[str, str]:
    """Location → path: where two snapshots name one file in two ways, it must not go for the one that is left."""
    return {place_of(path): path for path in paths}


def _without(files: dict[str, str], needed: Iterable[str]) -> dict[str, str]:
    for path in needed:
        files.pop(place_of(path), None)
    return files


def _manifests(table: Table) -> Iterator[ManifestFile]:
    """The manifests of all snapshots, oldest first."""
    seen: set[str] = set()
    for snapshot in table.metadata.snapshots:
        if snapshot.manifest_list not in seen:
            seen.add(snapshot.manifest_list)
            yield from manifests_in(table.io, snapshot.manifest_list)


def _listed_manifests(io: FileIO, manifest_list: str) -> list[ManifestFile]:
    """The manifests of a snapshot that was removed; none where its list is gone, or was lost when the power was cut."""
    try:
        return manifests_in(io, manifest_list)
    except UNREADABLE:
        return []


def _live_paths(io: FileIO, manifest: str) -> list[str]:
    try:
        return list(live_paths(io, manifest))
    except UNREADABLE:
        return []


def _statistics(table: Table) -> set[str]:
    files = (*table.metadata.statistics, *table.metadata.partition_statistics)
    return {file.statistics_path for file in files}
