"""Tags are set and dropped until none is missing, whoever else commits to the same tables meanwhile."""

from collections.abc import Callable, Sequence

from pyiceberg.exceptions import CommitFailedException

from lakehouse.protocol.catalog import LakeCatalog, TableChange
from lakehouse.protocol.errors import UNKNOWN_OUTCOME
from lakehouse.retry import NO_ANSWER, OTHERS_FIRST, pause

_TRIES = 30


def commit_missing(catalog: LakeCatalog, missing: Callable[[], Sequence[TableChange]], *, what: str) -> None:
    """Commit what is missing, all tables together, and look again until nothing is.

    Args:
        catalog: where the tables are.
        missing: loads the tables, and says what they lack.
        what: is to be committed, for the message.

    Raises:
        CommitFailedException: other commits came first too often, or the catalog gave no clear answer.
    """
    last_error: Exception | None = None
    for _ in range(_TRIES):
        changes = missing()
        if not changes:
            return
        try:
            catalog.commit_tables(changes)
        except CommitFailedException as error:
            last_error = error
            pause(OTHERS_FIRST)
        except UNKNOWN_OUTCOME as error:
            # The next look finds out whether it landed; if so, nothing is missing.
            last_error = error
            pause(NO_ANSWER)
    raise CommitFailedException(f"{what}: not done in {_TRIES} tries (last: {last_error})") from last_error
