"""The metadata documents that were read or written last: a commit reads each version of its tables several times."""

from collections import OrderedDict
from dataclasses import dataclass

from pyiceberg.table.metadata import TableMetadata

from lakehouse.iceberg.durable_files import local_path
from lakehouse.protocol.catalog.document import Document

_MOST_KEPT = 8
Stamp = tuple[int, int, int] | None  # bytes, nanoseconds of the last change, inode; None of a file that is gone
_IN_OBJECT_STORE: Stamp = (0, 0, 0)


@dataclass
class _Recent:
    stamp: Stamp
    document: Document
    metadata: TableMetadata | None = None


class RecentDocuments:
    """Documents by location, each with the model that was made of it.

    Nobody writes a document twice under one name (Iceberg table spec, "Commits"); of a file on a disk here, which
    anybody may edit, size and time of the last change decide.
    """

    def __init__(self) -> None:
        self._recent: OrderedDict[str, _Recent] = OrderedDict()

    def get(self, location: str) -> Document | None:
        """The document, if it is known and the file is as it was."""
        recent = self._recent.get(location)
        return recent.document if recent and recent.stamp is not None and recent.stamp == stamp_of(location) else None

    def keep(self, location: str, stamp: Stamp, document: Document) -> None:
        """Remember a document that was read or written when its file had this stamp; the oldest goes."""
        self._recent[location] = _Recent(stamp, document)
        while len(self._recent) > _MOST_KEPT:
            self._recent.popitem(last=False)

    def metadata(self, location: str, document: Document) -> TableMetadata | None:
        """The model of a document that was read here, if it was made before."""
        recent = self._recent.get(location)
        return recent.metadata if recent and recent.document is document else None

    def keep_metadata(self, location: str, document: Document, metadata: TableMetadata) -> None:
        """Remember the model of a document, as long as the document is remembered."""
        recent = self._recent.get(location)
        if recent and recent.document is document:
            recent.metadata = metadata


def stamp_of(location: str) -> Stamp:
    """What changes with a file on a disk here; of a file in an object store always the same."""
    path = local_path(location)
    if path is None:
        return _IN_OBJECT_STORE
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino
