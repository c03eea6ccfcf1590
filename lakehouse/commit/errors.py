"""How a commit can end other than well. Each names the table and the remedy."""

from lakehouse.errors import LakehouseError


class CommitError(LakehouseError):
    """A step could not publish; no table shows any part of it."""


class Superseded(CommitError):
    """Another attempt published first; this one has nothing left to do."""


class MainMoved(CommitError):
    """`main` is no longer where this attempt began, in a way that needs a new plan."""


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


class TableReplaced(CommitError):
    """The table was dropped and created anew between stage and publish."""


class ClockSkew(CommitError):
    """The table's history is ahead of this machine's clock."""


class PublishUnresolved(CommitError):
    """The outcome of a publish could not be established; files stay where they are."""


class TableBusy(CommitError):
    """Others appended to the table again and again while we tried."""


class SealBroken(LakehouseError):
    """A snapshot carries a seal that cannot be read, or that was changed after it was written."""
