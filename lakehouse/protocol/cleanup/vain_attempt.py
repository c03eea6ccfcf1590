"""An attempt that was in vain takes its branches back itself, instead of leaving them for housekeeping."""

from contextlib import suppress
from datetime import timedelta

from pyiceberg.exceptions import CommitFailedException
from tenacity import retry_if_exception_type

from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.cleanup.housekeeping import abandoned_branches, drop_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.retry import retrying

_TRIES = 10


def drop_branches_of(catalog: LakeCatalog, base: Base, attempt: Attempt) -> None:
    """Remove the branches of an attempt that will not publish; where others keep being quicker, housekeeping does."""
    with suppress(CommitFailedException):
        retrying(_TRIES, retry_if_exception_type(CommitFailedException))(_drop, catalog, base, attempt)


def _drop(catalog: LakeCatalog, base: Base, attempt: Attempt) -> None:
    for abandoned in abandoned_branches(catalog.load_table(base.identifier), older_than=timedelta(0)):
        if abandoned.branch.startswith(attempt.branch):
            drop_branch(catalog, abandoned)
