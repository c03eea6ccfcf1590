"""What a REST catalog answers, read without its own words: they may repeat a secret."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException
from requests import HTTPError, Response

from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import name_of
from lakehouse.protocol.catalog.change import TableChange

_ERROR_TYPE = re.compile(r"[A-Za-z]{1,50}(Exception|Error)")
TOKEN_ENDED = (401, 419)
RENEW = (
    "nothing was published; renew the credentials of the catalog, whose file in conf/catalogs says where they come "
    "from, then run the step again"
)
_DONE = (200, 204)
_OAUTH_ERRORS = frozenset(
    {
        *("invalid_request", "invalid_client", "invalid_grant", "unauthorized_client"),
        *("unsupported_grant_type", "invalid_scope"),
    }
)
_TRY_AGAIN = (409, 429)  # a requirement did not hold; too many requests
# Another branch of the table was committed to while a snapshot was prepared. Iceberg's server code, and so Polaris,
# answers 400 to that, though it only has to be prepared again. (The second: two attempts each prepared a table's very
# first snapshots, and the other has added more of them since.)
_STALE_SNAPSHOT = ("Cannot add snapshot with sequence number", "Invalid snapshot with sequence number")


class CommitRefusedByCatalog(LakehouseError):
    """The catalog refused a commit for a reason that trying again cannot mend."""


class LoadedDocument(msgspec.Struct, rename="kebab"):
    """A table as the server knows it; its document may be one that nobody here can read."""

    metadata_location: str
    metadata: dict[str, Any]


class _Error(msgspec.Struct):
    type: str = ""


class _Answer(msgspec.Struct):
    error: _Error | str


def short_reason(error: Exception) -> str:
    """What went wrong, without the server's words: they may repeat a secret."""
    status = error.response.status_code if isinstance(error, HTTPError) and error.response is not None else None
    return f"the catalog answered {status}" if status else type(error).__name__


def error_of(response: Response) -> tuple[str, bool]:
    """What kind of error the server says it is; its message may repeat a secret.

    Returns:
        The kind, empty if it says none that could be one; and whether it says so as OAuth does (RFC 6749, 5.2), and not
        as Iceberg's `ErrorModel.type`.
    """
    try:
        error = msgspec.json.decode(response.content, type=_Answer).error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return "", False
    if isinstance(error, str):
        return (error, True) if error in _OAUTH_ERRORS else ("", False)
    return (error.type, False) if _ERROR_TYPE.fullmatch(error.type) else ("", False)


def stale_snapshot(response: Response) -> str:
    """That another branch was committed to meanwhile, in the words of Iceberg's server code; empty if it was not."""
    return next((stale for stale in _STALE_SNAPSHOT if stale.encode() in response.content), "")


def raise_for_response(response: Response, changes: Sequence[TableChange]) -> None:
    """What an answer to a commit means.

    Only an answer without content says that it was done, as the specification has it (204): a page with status 200 is
    of somebody else.

    Raises:
        CommitFailedException: nothing was changed; it has to be prepared again.
        CommitStateUnknownException: perhaps it was done.
        CommitRefusedByCatalog: it never will be.
    """
    if response.status_code in _DONE and not response.content:
        return
    names = ", ".join(name_of(change.identifier) for change in changes)
    kind, _ = error_of(response)
    message = f"{names}: the catalog answered {response.status_code}{f' ({kind})' if kind else ''}"
    if response.status_code in _TRY_AGAIN or stale_snapshot(response):
        raise CommitFailedException(message)
    if response.ok or response.status_code >= 500:
        raise CommitStateUnknownException(message)
    if response.status_code in TOKEN_ENDED:
        raise CommitRefusedByCatalog(message, remedy=RENEW)
    raise CommitRefusedByCatalog(
        message,
        remedy="check that the catalog offers transactions/commit and that this principal may commit to the tables",
    )
