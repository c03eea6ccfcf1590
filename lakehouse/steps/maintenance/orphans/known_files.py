"""Every file that any version of a table's metadata knows: those in the log, those at its location, and the newest.

A version that is not in the log may be one that an operator rolled back, and wants again. So what it knows is known as
long as the version itself is there. One that is torn, as a full disk or a crash leaves it, and that no other version
names, nobody can want again: once it is old enough, it is an orphan itself.
"""

import gzip
import zlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
from pyiceberg.io import FileIO
from pyiceberg.table import Table

from lakehouse.errors import LakehouseError
from lakehouse.iceberg.locations import place_of
from lakehouse.iceberg.manifests.entry_reader import manifests_in, named_paths
from lakehouse.iceberg.names import table_name
from lakehouse.steps.maintenance.orphans.listing import Listing, names_of
from lakehouse.steps.maintenance.orphans.location import CannotLook

_HINT = "version-hint.text"
_VERSIONS = (".metadata.json", ".metadata.json.gz")


class MetadataUnreadable(LakehouseError):
    """A version of the metadata cannot be read, so nobody can say which files it knows."""


@dataclass(frozen=True)
class Known:
    """Names of files.

    Args:
        names: that some version of the metadata knows, itself included where the log has it.
        versions: how many versions were read.
    """

    names: frozenset[str]
    versions: int

    def knows(self, path: str) -> bool:
        """Whether a file at this path is, or may be, one of them."""
        return not self.names.isdisjoint(names_of(path))


def known_files(
    table: Table, listing: Listing, neighbours: Collection[str] = (), *, settled_before: datetime | None = None
) -> Known:
    """Read every version of a table's metadata, each manifest once.

    Args:
        table: loaded after the listing was made: what was committed in between is known.
        listing: of its location.
        neighbours: places of other tables below it; their metadata is read too, and nobody minds it there.
        settled_before: a torn version that was last written before is no longer being written; None: none is.

    Raises:
        CannotLook: there is another table's metadata, so the files may be that one's.
        MetadataUnreadable: of a version that is in use, or of any that is there, something cannot be read.
    """
    current = [table.metadata_location, *(entry.metadata_file for entry in table.metadata.metadata_log)]
    names = {_HINT}.union(*map(names_of, current))
    seen: set[str] = set()
    newest = _decoded(_content(table.io, table.metadata_location), table.metadata_location)
    names |= _reached(table.io, newest, seen, must_be_there=True)
    listed = {listing.address(file.path): file for file in listing.files if file.path.endswith(_VERSIONS)}
    others = {version for version in listed if place_of(version) != place_of(table.metadata_location)}
    logged, torn = {*map(place_of, current)}, dict[str, MetadataUnreadable]()
    for version in sorted(others):
        try:
            content = _content(table.io, version)
        except FileNotFoundError:  # a commit has deleted the oldest version since it was listed
            continue
        try:
            document = _decoded(content, version)
        except MetadataUnreadable as error:
            torn[version] = error
            continue
        logged.update(place_of(entry["metadata-file"]) for entry in document.get("metadata-log") or ())
        if not _is_ours(document, newest) and not place_of(version).startswith(tuple(neighbours)):
            raise CannotLook(
                f"{version} is of another table than {table_name(table)}: of one that was here before it, or of "
                "another catalog.",
                remedy="declare orphans=None; if nobody needs that other table, remove its metadata, and look again",
            )
        names |= _reached(table.io, document, seen, must_be_there=False)
    for version, unreadable in torn.items():
        modified_at = listed[version].modified_at
        settled = settled_before is not None and modified_at is not None and modified_at < settled_before
        if place_of(version) in logged or not settled:
            raise unreadable
    return Known(frozenset(names), 1 + len(others) - len(torn))


def _is_ours(document: dict[str, Any], newest: dict[str, Any]) -> bool:
    """Whether a version is of the same table; of format version 1 the oldest may not say of which."""
    return document.get("table-uuid") in (None, newest.get("table-uuid"))


def _content(io: FileIO, version: str) -> bytes:
    try:
        with io.new_input(version).open() as stream:
            return stream.read()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _unreadable(version, error) from error


def _decoded(content: bytes, version: str) -> dict[str, Any]:
    try:
        plain = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
        return msgspec.json.decode(plain, type=dict[str, Any])
    except (OSError, EOFError, zlib.error, ValueError) as error:  # in memory, so `OSError` is a damaged gzip
        raise _unreadable(version, error) from error


def _unreadable(version: str, error: Exception) -> MetadataUnreadable:
    return MetadataUnreadable(
        f"{version} cannot be read ({error}), so nobody can say which files it knows.",
        remedy="look at it; if it is what a crash has left behind, wait until it is as old as an orphan has to be, or "
        "remove it by hand, and look again",
    )


def _reached(io: FileIO, document: dict[str, Any], seen: set[str], *, must_be_there: bool) -> set[str]:
    """Names of all files that a version's snapshots and statistics are made of; `seen` is read no second time.

    An older version may list snapshots that have expired since: their files are gone, and so are they.
    """
    names: set[str] = set()
    for key in ("statistics", "partition-statistics"):
        names.update(name for entry in document.get(key) or () for name in names_of(entry["statistics-path"]))
    for snapshot in document.get("snapshots") or ():
        for path in _of_snapshot(io, snapshot, seen, must_be_there=must_be_there):
            names |= names_of(path)
    return names


def _of_snapshot(io: FileIO, snapshot: dict[str, Any], seen: set[str], *, must_be_there: bool) -> Iterator[str]:
    manifest_list = snapshot.get("manifest-list")
    if manifest_list is None:  # format version 1 may name the manifests themselves
        yield from _of_manifests(io, snapshot.get("manifests") or (), seen, must_be_there=must_be_there)
    elif manifest_list not in seen:
        seen.add(manifest_list)
        yield manifest_list
        try:
            manifests = [manifest.manifest_path for manifest in manifests_in(io, manifest_list)]
        except FileNotFoundError as missing:
            _may_be_missing(manifest_list, missing, must_be_there=must_be_there)
            return
        yield from _of_manifests(io, manifests, seen, must_be_there=must_be_there)


def _of_manifests(io: FileIO, manifests: Iterable[str], seen: set[str], *, must_be_there: bool) -> Iterator[str]:
    for manifest in manifests:
        if manifest in seen:
            continue
        seen.add(manifest)
        yield manifest
        try:
            yield from list(named_paths(io, manifest))
        except FileNotFoundError as missing:
            _may_be_missing(manifest, missing, must_be_there=must_be_there)


def _may_be_missing(path: str, missing: FileNotFoundError, *, must_be_there: bool) -> None:
    if must_be_there:
        raise MetadataUnreadable(
            f"{path}, which a snapshot of the table needs, is not there.",
            remedy="roll the table back to a snapshot that is whole, or restore the file; nothing was deleted",
        ) from missing
