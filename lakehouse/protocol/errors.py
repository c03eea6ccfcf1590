"""How a commit can end other than well. Each names the table and the remedy."""

from collections.abc import Iterable

from pyiceberg.exceptions import CommitStateUnknownException, ServerError, ServiceUnavailableError
from requests.exceptions import RequestException

from lakehouse.errors import LakehouseError

# After these a catalog may have done what it was asked, or not.
UNKNOWN_OUTCOME = (CommitStateUnknownException, ServiceUnavailableError, ServerError, RequestException)


class CommitError(LakehouseError):
    """A step could not publish; no table shows any part of it."""


class Superseded(CommitError):
    """Another attempt published first; this one has nothing left to do."""


class MainMoved(CommitError):
    """`main` is no longer where this attempt began, in a way that needs a new plan."""


class MainBusy(MainMoved):
    """`main` moved again after each rebase; when it is quieter, the same work can be published."""


class ForeignCommit(CommitError):
    """Somebody wrote to `main`, or to this attempt's branch, outside the protocol."""


class RolledBack(CommitError):
    """This attempt was published, or its branch existed, and an operator took it back."""


class SchemaChanged(CommitError):
    """The table's schema changed between stage and publish."""


class FilesTouched(CommitError):
    """Somebody removed rows of the files that were rewritten, so what they were rewritten to is out of date."""


class ContentChanged(CommitError):
    """A rewrite would have changed what the table holds; it was not published."""


class HalfPublished(CommitError):
    """A publish stopped between two tables, of a catalog that changes one after another, and cannot be completed."""

    def __init__(self, name: str, attempt: str, published: Iterable[str], reason: str) -> None:
        others = ", ".join(sorted(published))
        super().__init__(
            f"{name}: attempt {attempt} published {others} and stopped before this table, and {reason}",
            remedy=f"set all tables of the step back to what they share, `lakehouse rollback {name}` (with --yes): the "
            "next run does the same work again, for all of them",
        )


class TableReplaced(CommitError):
    """The table was dropped and created anew between stage and publish."""


class TableGone(CommitError):
    """The catalog has the table no longer under the name that it had when the attempt began."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} was dropped or renamed during this attempt.",
            remedy="if it was renamed, give it its name again; then run the step again",
        )


class ClockSkew(CommitError):
    """The table's history is ahead of this machine's clock."""


class StagedFilesLost(CommitError):
    """A file that the attempt has staged is gone, torn, or not to be put on the disk; `main` would point at nothing."""


class PublishUnresolved(CommitError):
    """The outcome of a publish could not be established; files stay where they are."""


class TableBusy(CommitError):
    """Others appended to the table again and again while we tried."""


class HistoryCircular(LakehouseError):
    """A snapshot of a table is its own ancestor: the metadata were edited."""


class SealBroken(LakehouseError):
    """A snapshot carries a seal that cannot be read, or that was changed after it was written."""


class MetadataFileDamaged(LakehouseError):
    """The document that the catalog names for a table is gone, or is no metadata; or it names none.

    Attributes:
        table: whose it is.
        path: of the document; empty where the catalog names none.
        gone: it is not in storage; otherwise it is there, and cannot be read.
    """

    def __init__(self, table: str, path: str, reason: str = "", remedy: str = "") -> None:
        defect = f"cannot be read ({reason})" if reason else "is in the catalog, and not in storage"
        document = f"metadata file {path.rpartition('/')[2]} {defect}" if path else "the catalog names no metadata file"
        super().__init__(
            f"{table}: {document}.",
            remedy=remedy
            or "restore the file from a backup; or drop the table without purging it, and register it with the "
            "newest metadata file of its folder that is whole",
        )
        self.table, self.path, self.gone = table, path, bool(path) and not reason
