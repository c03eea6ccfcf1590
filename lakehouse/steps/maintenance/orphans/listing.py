"""What lies at a table's location: every file with its age, listed and deleted by the same client.

A path that was listed is handed back to that client as it is. Made into an address and parsed again, a name with a `#`
or a `%` in it would be another file's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import unquote, unquote_plus

import pyarrow.fs as arrow_fs
from pyiceberg.io import FileIO

from lakehouse.errors import LakehouseError
from lakehouse.iceberg.arrow_client import arrow_client
from lakehouse.iceberg.locations import place_of
from lakehouse.steps.maintenance.model.partitions import HIDDEN


class CannotList(LakehouseError):
    """The files of a location cannot be listed."""


@dataclass(frozen=True)
class ListedFile:
    """A file as it was found.

    Args:
        path: as the client names it.
        bytes: its size.
        modified_at: when it was last written; None where the store does not say.
    """

    path: str
    bytes: int
    modified_at: datetime | None


@dataclass(frozen=True)
class Listing:
    """All files below a location, at one moment.

    Args:
        files: them.
        client: who listed them.
        scheme: of the location's address.
        shown_fields: partition fields whose values are shown; of one that nobody knows, as of a spec of long ago, none
            is.
    """

    files: Sequence[ListedFile]
    client: arrow_fs.FileSystem
    scheme: str
    shown_fields: frozenset[str] = frozenset()

    def address(self, path: str) -> str:
        """The address of a listed path, for reading."""
        return f"{self.scheme}://{path}"

    def shown(self, path: str) -> str:
        """The same as it is written down, without the values of sensitive columns; the file's own name has none."""
        return "/".join(self._part(part) for part in self.address(path).split("/"))

    def _part(self, part: str) -> str:
        field, is_partition, _ = part.partition("=")
        return f"{field}={HIDDEN}" if is_partition and unquote_plus(field) not in self.shown_fields else part

    def delete(self, path: str) -> None:
        """Delete a listed file; one that is gone already is as it should be.

        Raises:
            OSError: the store refused.
        """
        try:
            self.client.delete_file(path)
        except FileNotFoundError:
            return


def list_files(io: FileIO, location: str) -> Listing:
    """List everything below a location, hidden files included; what a symlink leads to elsewhere is not below it.

    Raises:
        CannotList: the table is read by a client that does not say how old a file is.
        OSError: the store refused.
    """
    known = arrow_client(io, location)
    if known is None:
        raise CannotList(
            f"{location} is read by {type(io).__name__}, which does not say how old a file is.",
            remedy="leave py-io-impl out of the catalog's properties, so that PyIceberg reads by Arrow",
        )
    client, scheme, path = known
    links, below = isinstance(client, arrow_fs.LocalFileSystem), place_of(path)
    entries = client.get_file_info(arrow_fs.FileSelector(path, recursive=True, allow_not_found=True))
    files = [
        ListedFile(entry.path, entry.size or 0, entry.mtime.astimezone(UTC) if entry.mtime is not None else None)
        for entry in entries
        if entry.type == arrow_fs.FileType.File and (not links or place_of(entry.path).startswith(below))
    ]
    return Listing(tuple(sorted(files, key=lambda file: file.path)), client, scheme)


def names_of(path: str) -> frozenset[str]:
    """How a file may be named by metadata: its last part, as written and decoded.

    Whole paths are no help where one and the same file is `file:/t/a`, `file:///t/a` and `/t/a`, or `s3:` and `s3a:`.
    The last part is unique in every layout that Iceberg's writers make; where two files share it after all, both count
    as known. A checksum that Hadoop lays beside a file (`.name.crc`) goes by the file's name.
    """
    name = path.rstrip("/").rpartition("/")[2]
    if name.startswith(".") and name.endswith(".crc"):
        name = name[1 : -len(".crc")]
    return frozenset((name, unquote(name)))
