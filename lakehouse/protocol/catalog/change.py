"""The one thing we ask of a catalog beyond PyIceberg's own interface: change several tables together or not at all."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError, RESTError
from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRef, SnapshotRefType
from pyiceberg.table.update import (
    AssertRefSnapshotId,
    RemoveSnapshotRefUpdate,
    RemoveSnapshotsUpdate,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
)
from pyiceberg.typedef import Identifier

from lakehouse.protocol.catalog.entry import Entry
from lakehouse.protocol.errors import MetadataFileDamaged

FOREVER_MS = 2**63 - 1
"""The age of a tag that stays until it is removed."""


@dataclass(frozen=True)
class TableChange:
    """What one table requires and receives in a commit (the parts of the Iceberg REST `CommitTableRequest`).

    Without updates the table stays as it is: the commit happens only while it is as required.
    """

    identifier: Identifier
    requirements: tuple[TableRequirement, ...]
    updates: tuple[TableUpdate, ...]


CANNOT_LOAD = (RESTError, OSError, ValueError, MetadataFileDamaged)
"""What loading one table may end in, so that it says nothing of others: refused, gone from storage, not understood.

A pydantic `ValidationError` is a `ValueError`; `OSError` has the catalog's silence in it, too.
"""


@dataclass(frozen=True)
class Locations:
    """Where the metadata of tables are.

    Attributes:
        known: table → address of its newest document, for those that exist.
        refused: table → why the catalog does not say where it is; whether it exists, nobody knows.
    """

    known: Mapping[Identifier, str] = field(default_factory=dict[Identifier, str])
    refused: Mapping[Identifier, str] = field(default_factory=dict[Identifier, str])


class GroupCommits(Protocol):
    """Commits and reads over several tables."""

    reads_whole_commits: ClassVar[bool]
    """Whether `load_tables` never shows part of a commit over several tables while it is applied."""

    def commit_tables(self, changes: Sequence[TableChange]) -> None:
        """Apply every change, or none.

        Raises:
            CommitFailedException: a requirement did not hold, or another commit came first; nothing was changed.
            CommitStateUnknownException: the answer was lost; the change may have been applied.
        """
        ...

    def load_tables(self, identifiers: Sequence[Identifier]) -> dict[Identifier, Table]:
        """Load several tables as they were at one moment.

        Raises:
            NoSuchTableError: one of them does not exist.
            MetadataFileDamaged: the document of one is gone, or is no JSON.
        """
        ...

    def locations(self, identifiers: Sequence[Identifier]) -> Locations:
        """Where the metadata of each table is, for those that exist: another place after every commit.

        Raises:
            RequestException: the catalog does not answer at all.
        """
        ...

    def entries(self) -> Iterator[Entry]:
        """All tables of the catalog, as their documents tell them; one that cannot be read says so."""
        ...


class LakeCatalog(Catalog, GroupCommits):
    """A PyIceberg catalog that can also commit and read groups of tables."""

    commits_together: ClassVar[bool] = True
    """Whether `commit_tables` changes several tables together; False: one after the other, so it can stop half-way."""

    def remove_table(self, identifier: str | Identifier) -> None:
        """Drop a table with its files; without them where the server may not delete any (Polaris, unless it is told).

        Raises:
            NoSuchTableError: there is none.
        """
        try:
            self.purge_table(identifier)
        except RESTError:
            with suppress(NoSuchTableError):  # it may have dropped the entry before it came to the files
                self.drop_table(identifier)


def ref_is(ref: str, snapshot_id: int | None) -> TableRequirement:
    """The branch or tag must name this snapshot; None: it must not exist."""
    return AssertRefSnapshotId.model_validate({"ref": ref, "snapshot-id": snapshot_id})


def set_branch(branch: str, snapshot_id: int, *, like: SnapshotRef | None = None) -> TableUpdate:
    """Let a branch name a snapshot, with the retention of `like`."""
    retention = like.model_dump(mode="json", by_alias=True, exclude_none=True) if like else {}
    return SetSnapshotRefUpdate.model_validate(
        {**retention, "ref-name": branch, "type": SnapshotRefType.BRANCH, "snapshot-id": snapshot_id}
    )


def set_tag(tag: str, snapshot_id: int) -> TableUpdate:
    """Let a tag name a snapshot, until it is removed."""
    return SetSnapshotRefUpdate.model_validate(
        {
            "ref-name": tag,
            "type": SnapshotRefType.TAG,
            "snapshot-id": snapshot_id,
            # An explicit age, so that no `history.expire.max-ref-age-ms` of the table ends it.
            "max-ref-age-ms": FOREVER_MS,
        }
    )


def remove_ref(ref: str) -> TableUpdate:
    """Remove a branch or tag."""
    return RemoveSnapshotRefUpdate.model_validate({"ref-name": ref})


def remove_snapshots(snapshot_ids: Sequence[int]) -> TableUpdate:
    """Remove snapshot entries; files stay."""
    return RemoveSnapshotsUpdate.model_validate({"snapshot-ids": list(snapshot_ids)})
