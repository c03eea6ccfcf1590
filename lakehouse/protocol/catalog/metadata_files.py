"""Metadata documents as files: named, written, read, deleted. Which of them counts is said by the catalog's row."""

import gzip
import re
import uuid
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import cast

import structlog
from pydantic import ValidationError as FieldInvalid
from pyiceberg.exceptions import ValidationError
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.typedef import Identifier, Properties

from lakehouse.iceberg.contradictions.contradiction import contradiction_in
from lakehouse.iceberg.document_json import decoded_document, encoded_document
from lakehouse.iceberg.durable_files import sync_files
from lakehouse.iceberg.names import name_of
from lakehouse.iceberg.own_files import DELETE_OLD_METADATA
from lakehouse.protocol.catalog.document import Document, parsed
from lakehouse.protocol.catalog.recent_documents import RecentDocuments, stamp_of
from lakehouse.protocol.errors import MetadataFileDamaged

_log = structlog.get_logger(__name__)
_SCHEME = re.compile("^[A-Za-z][A-Za-z0-9+.-]*:/*|^/+")


class NoDocumentError(Exception):
    """What stands in a metadata file is no JSON object."""


class MetadataFiles:
    """The documents of a catalog's tables, in storage as the catalog's settings say."""

    def __init__(self, properties: Properties) -> None:
        self._properties = properties
        self._recent = RecentDocuments()

    def read(self, location: str) -> Document:
        """The document in a file, unpacked if it is a gzip; nobody may change it.

        Raises:
            NoDocumentError: there is something else in it, as after a write that broke off.
            OSError: storage does not give it; `FileNotFoundError` where it is gone.
        """
        if (known := self._recent.get(location)) is not None:
            return known
        stamp = stamp_of(location)
        with self.io(location).new_input(location).open() as stream:
            content = stream.read()
        try:
            if content[:2] == b"\x1f\x8b":
                content = gzip.decompress(content)
            document = decoded_document(content)
        except (OSError, EOFError, zlib.error, ValueError) as error:  # in memory, so `OSError` is a damaged gzip
            raise NoDocumentError(str(error).partition("\n")[0].rstrip(".")) from error
        self._recent.keep(location, stamp, document)
        return document

    def read_for(self, identifier: Identifier, location: str) -> Document:
        """The document of a table.

        Raises:
            MetadataFileDamaged: the file is gone, or no document is in it.
        """
        try:
            return self.read(location)
        except FileNotFoundError as error:
            raise MetadataFileDamaged(name_of(identifier), location) from error
        except NoDocumentError as error:
            raise MetadataFileDamaged(name_of(identifier), location, short_reason(error)) from error

    def metadata_of(self, identifier: Identifier, location: str, document: Document) -> TableMetadata:
        """What `metadata_of` makes of a document that was read here, made once; nobody may change it."""
        known = self._recent.metadata(location, document)
        if known is None:
            known = metadata_of(identifier, location, document)
            self._recent.keep_metadata(location, document, known)
        return known

    def write_all(self, documents: Mapping[str, Document]) -> None:
        """Write all documents, or leave none of them behind: a torn one would keep orphan removal from its turn.

        They are on the disk afterwards: a row of the catalog must not survive a power cut that its document did not.

        Args:
            documents: by location; nobody may change them afterwards.
        """
        begun: list[str] = []
        try:
            for location, document in documents.items():
                begun.append(location)
                self._write(location, document)
            sync_files(begun, tops=[location.rpartition("/")[0] for location in begun])
        except BaseException:
            self.discard(begun)
            raise
        for location, document in documents.items():
            self._recent.keep(location, stamp_of(location), document)

    def _write(self, location: str, document: Document) -> None:
        content = encoded_document(document)
        if location.endswith(".gz.metadata.json"):
            content = gzip.compress(content)
        with self.io(location).new_output(location).create() as stream:
            stream.write(content)

    def discard(self, locations: Iterable[str]) -> None:
        """Delete documents that no entry names; one that stays is an orphan, and no reason for another error."""
        for location in locations:
            with suppress(Exception):
                self.io(location).delete(location)

    def delete_outdated(self, files: Sequence[str], location: str) -> None:
        """Delete documents beside another after a commit has landed: one that stays must not make it fail."""
        io = self.io(location)
        for file in files:
            try:
                io.delete(file)
            except OSError as error:
                _log.warning("outdated_metadata_not_deleted", file=file, reason=str(error))

    def io(self, location: str) -> FileIO:
        """Storage, as the catalog's settings say, for a file."""
        return load_file_io(self._properties, location)


def short_reason(error: Exception) -> str:
    """What is wrong with a document; of storage, the kind of its error alone."""
    return str(error) if isinstance(error, NoDocumentError) else type(error).__name__


_ODD = (AttributeError, KeyError, TypeError, ValueError)
_OF_ANOTHER_TYPE = "a field is of another type than Iceberg's metadata has there"
# Of these a later Iceberg may say what PyIceberg does not know yet: no damage.
_MAY_BE_NEWER = tuple((part,) for part in ("schema", "schemas", "statistics", "partition-statistics"))


def metadata_of(identifier: Identifier, location: str, document: Document) -> TableMetadata:
    """A table's document as PyIceberg models it.

    Raises:
        MetadataFileDamaged: it is JSON, and not what the Iceberg table spec says of metadata, or contradicts itself.
        pydantic.ValidationError: it has a column type or a kind of statistics that PyIceberg does not know.
    """
    metadata, newer, contradiction = None, None, None
    try:
        metadata = parsed(document)
    except FieldInvalid as error:
        first = error.errors(include_url=False, include_input=False)[0]
        if first["loc"][:1] not in _MAY_BE_NEWER:
            reason = f"{'.'.join(map(str, first['loc']))}: {first['msg']}".partition("\n")[0]
            raise MetadataFileDamaged(name_of(identifier), location, reason) from error
        newer = error
    except ValidationError as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise MetadataFileDamaged(name_of(identifier), location, reason) from error
    except _ODD as error:
        raise MetadataFileDamaged(name_of(identifier), location, _OF_ANOTHER_TYPE) from error
    try:
        contradiction = contradiction_in(document)
    except _ODD as error:
        raise MetadataFileDamaged(name_of(identifier), location, _OF_ANOTHER_TYPE) from error
    if contradiction is not None:
        raise MetadataFileDamaged(name_of(identifier), location, contradiction.words, contradiction.remedy)
    if metadata is None:
        assert newer is not None
        raise newer
    return metadata


def next_location(location: str, document: Document) -> str:
    """Where the next version of a document goes: beside it, under a name that nobody has used."""
    folder, _, name = location.rpartition("/")
    version = name.split("-", 1)[0]
    next_version = int(version) + 1 if version.isdigit() else len(document.get("metadata-log") or []) + 1
    compressed = document.get("properties", {}).get("write.metadata.compression-codec", "none") == "gzip"
    return f"{folder}/{next_version:05d}-{uuid.uuid4()}{'.gz' if compressed else ''}.metadata.json"


def outdated_files(location: str, previous: Document, document: Document) -> list[str]:
    """The documents that fell off the metadata log, if they may go (`write.metadata.delete-after-commit.enabled`).

    Args:
        location: of the previous document; files elsewhere are left alone.
        previous: the document before a commit.
        document: the document after it.
    """
    properties = cast("dict[str, str]", document.get("properties") or {})
    if properties.get(DELETE_OLD_METADATA, "false").lower() != "true":
        return []
    logged = {entry["metadata-file"] for entry in document["metadata-log"]}
    files = (entry["metadata-file"] for entry in previous.get("metadata-log") or [])
    return _beside(location, [file for file in files if file not in logged])


def _beside(location: str, files: Sequence[str]) -> list[str]:
    """Those of some files that lie where a document does: by the document's word alone, any could be an older one."""
    return [file for file in files if folder_of(file) == folder_of(location)]


def folder_of(location: str) -> str:
    """The folder of a file, in whichever way its address is written."""
    return _SCHEME.sub("", location.rpartition("/")[0])
