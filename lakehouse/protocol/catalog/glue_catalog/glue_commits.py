"""Commits of AWS Glue's catalog, which changes one table at a time: each by the version of it that was read.

All requirements are looked at before the first table changes. Then the tables go one after another, in the order of
their names, so that of two writers of the same tables one loses before anything of its own is there. What can still
come between two tables (a kill, a lost race) leaves the later ones with their staged branches; `publish` goes on with
those, and so does the next run (`protocol/completion/completion.py`).
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from botocore.exceptions import BotoCoreError, ClientError
from pyiceberg.catalog.glue import _construct_table_input  # pyright: ignore[reportPrivateUsage] - as PyIceberg writes it
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    NoSuchTableError,
    ServiceUnavailableError,
)
from pyiceberg.table.update import SetSnapshotRefUpdate
from pyiceberg.typedef import Identifier
from tenacity import retry_if_exception, retry_if_result

from lakehouse.iceberg.names import name_of
from lakehouse.protocol.catalog.change import TableChange
from lakehouse.protocol.catalog.clock import require_clock
from lakehouse.protocol.catalog.document import MAIN, Document, edited, parsed, require
from lakehouse.protocol.catalog.metadata_files import MetadataFiles, next_location
from lakehouse.protocol.errors import ClockSkew, MetadataFileDamaged
from lakehouse.protocol.failpoints import failpoint
from lakehouse.retry import OTHERS_FIRST, retrying

GlueEntry = dict[str, Any]
_SWAP_TRIES = 12
_READ_TRIES = 5
_LOCATION, _TYPE = "metadata_location", "table_type"
_FIRST_SERVER_ERROR = 500
# Of the entry, what Glue's answer has in common with what it takes, and PyIceberg leaves out.
_KEPT = ("Owner", "Retention", "Description")


class PartlyCommitted(CommitStateUnknownException):
    """Some tables of a commit have changed, and another was in the way of the next one."""


@dataclass(frozen=True)
class StoredTable:
    """A table as Glue has it, and its metadata document as it was read."""

    identifier: Identifier
    location: str
    document: Document
    entry: GlueEntry = field(repr=False)


class GlueCommits:
    """Reads and changes the newest documents of a catalog's tables.

    Args:
        client: boto3's for Glue.
        metadata_files: the documents.
        skip_archive: whether Glue keeps no former version of a table's entry.
    """

    def __init__(self, client: Any, metadata_files: MetadataFiles, *, skip_archive: bool) -> None:
        self._client, self._metadata_files, self._skip_archive = client, metadata_files, skip_archive

    def commit(self, changes: Sequence[TableChange]) -> list[tuple[StoredTable, Document]]:
        """Change one table after another; documents before and after.

        Raises:
            CommitFailedException: a requirement did not hold, or other commits came first; nothing was changed.
            PartlyCommitted: the same, after other tables had changed.
            CommitStateUnknownException: an answer was lost.
        """
        current = {change.identifier: self.stored(change.identifier) for change in changes}
        for change in changes:
            require(current[change.identifier].document, change.requirements)
        landed: list[tuple[StoredTable, Document]] = []
        for change in sorted((change for change in changes if change.updates), key=_turn):
            if landed:
                failpoint("glue.between")
            try:
                landed.append(self._change(change, current[change.identifier]))
            except (CommitFailedException, NoSuchTableError) as error:
                if not landed:
                    raise
                names = ", ".join(name_of(stored.identifier) for stored, _ in landed)
                raise PartlyCommitted(f"{names} changed, and then: {error}") from error
        return landed

    def _change(self, change: TableChange, first: StoredTable) -> tuple[StoredTable, Document]:
        """Change one table; retried while only unrelated commits are in the way."""
        others_first = retry_if_result(lambda swapped: swapped is None)
        pending = [first]

        def swap() -> tuple[StoredTable, Document] | None:
            stored = pending.pop() if pending else self.stored(change.identifier)
            require(stored.document, change.requirements)
            document = edited(stored.document, stored.location, change.updates, time.time_ns() // 1_000_000)
            return (stored, document) if self._swap(stored, document) else None

        swapped = retrying(_SWAP_TRIES, others_first, longest=OTHERS_FIRST)(swap)
        if swapped is None:
            raise CommitFailedException(f"{name_of(change.identifier)}: others came first {_SWAP_TRIES} times in a row")
        return swapped

    def _swap(self, stored: StoredTable, document: Document) -> bool:
        """Let the entry name the next document; whether it does."""
        location = next_location(stored.location, stored.document)
        began_ms = time.time_ns() // 1_000_000
        self._metadata_files.write_all({location: document})
        try:
            require_clock(self._metadata_files.io(location), location, began_ms, name_of(stored.identifier))
        except ClockSkew:
            self._metadata_files.discard([location])
            raise
        try:
            self._client.update_table(
                DatabaseName=stored.identifier[0],
                TableInput=_table_input(stored, location, document),
                SkipArchive=self._skip_archive,
                VersionId=stored.entry["VersionId"],
            )
        except self._client.exceptions.ConcurrentModificationException:
            # The client asks again by itself where an answer was lost: then it was our own commit that came first.
            if self._has_landed(stored.identifier, location):
                return True
            self._metadata_files.discard([location])
            return False
        except self._client.exceptions.EntityNotFoundException as error:
            raise NoSuchTableError(f"Table does not exist: {name_of(stored.identifier)}") from error
        except (BotoCoreError, ClientError) as error:
            if not is_silent(error):
                raise
            # It may have been done: the document stays, the caller looks again.
            raise CommitStateUnknownException(f"Glue did not answer the commit: {type(error).__name__}") from error
        return True

    def _has_landed(self, identifier: Identifier, location: str) -> bool:
        """Whether a table's history has a document."""
        now = self.stored(identifier)
        logged = (entry["metadata-file"] for entry in now.document.get("metadata-log") or [])
        return location in (now.location, *logged)

    def stored(self, identifier: Identifier) -> StoredTable:
        """A table's entry with its newest document.

        Raises:
            NoSuchTableError: there is none.
            MetadataFileDamaged: its document is gone, or is no JSON.
            ServiceUnavailableError: Glue does not answer.
        """

        def read() -> StoredTable:
            entry = self.entry(identifier)
            location = location_in(entry)
            if not location:
                raise MetadataFileDamaged(name_of(identifier), "")
            return StoredTable(identifier, location, self._metadata_files.read_for(identifier, location), entry)

        # Newer commits may delete the oldest documents while we are on the way to one: look again.
        return retrying(_READ_TRIES, retry_if_exception(_is_gone))(read)

    def entry(self, identifier: Identifier) -> GlueEntry:
        """What Glue says of an Iceberg table.

        Raises:
            NoSuchTableError: it has none of this name.
            ServiceUnavailableError: it does not answer.
        """
        missing = f"Table does not exist: {name_of(identifier)}"
        if len(identifier) != 2:
            raise NoSuchTableError(missing)
        try:
            entry = answer_of(lambda: self._client.get_table(DatabaseName=identifier[0], Name=identifier[1]))["Table"]
        except self._client.exceptions.EntityNotFoundException as error:
            raise NoSuchTableError(missing) from error
        if not is_iceberg(entry):
            raise NoSuchTableError(f"{name_of(identifier)} is in Glue, and is no Iceberg table")
        return entry


def answer_of(call: Callable[[], Any]) -> Any:
    """What Glue says to a question that changes nothing.

    Raises:
        ServiceUnavailableError: it does not answer.
    """
    try:
        return call()
    except (BotoCoreError, ClientError) as error:
        if not is_silent(error):
            raise
        raise ServiceUnavailableError(f"Glue does not answer: {type(error).__name__}") from error


def is_silent(error: Exception) -> bool:
    """Whether an error of boto3's leaves open what was done: nothing came back, or that something broke there."""
    if isinstance(error, ClientError):
        status = cast("int", error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        return status >= _FIRST_SERVER_ERROR
    return "Credential" not in type(error).__name__ and "Region" not in type(error).__name__


def is_iceberg(entry: GlueEntry) -> bool:
    """Whether an entry is of an Iceberg table."""
    return str((entry.get("Parameters") or {}).get(_TYPE, "")).lower() == "iceberg"


def location_in(entry: GlueEntry) -> str:
    """Where an entry's newest document is; empty where it does not say."""
    return str((entry.get("Parameters") or {}).get(_LOCATION, ""))


def _table_input(stored: StoredTable, location: str, document: Document) -> GlueEntry:
    entry = {**stored.entry, "Parameters": dict(stored.entry["Parameters"])}  # PyIceberg writes into it
    written = _construct_table_input(
        *(stored.identifier[1], location, {}, parsed(document)),
        glue_table=cast("Any", entry),
        prev_metadata_location=stored.location,
    )
    return {**{key: entry[key] for key in _KEPT if key in entry}, **written}


def _turn(change: TableChange) -> tuple[bool, Identifier]:
    """Tables whose `main` moves come first: a lease that stays behind holds too much, and nothing is lost by that."""
    moves = any(isinstance(update, SetSnapshotRefUpdate) and update.ref_name == MAIN for update in change.updates)
    return not moves, change.identifier


def _is_gone(error: BaseException) -> bool:
    return isinstance(error, MetadataFileDamaged) and error.gone
