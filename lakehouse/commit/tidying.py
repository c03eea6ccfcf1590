"""An attempt that was in vain takes its branches back itself, instead of leaving them for housekeeping."""

from datetime import timedelta

from pyiceberg.exceptions import CommitFailedException

from lakehouse.catalog import LakeCatalog
from lakehouse.commit.attempt import Attempt
from lakehouse.commit.base import Base
from lakehouse.commit.housekeeping import abandoned_branches, drop_branch

_TRIES = 10


def drop_branches_of(catalog: LakeCatalog, base: Base, attempt: Attempt) -> None:
    """Remove the branches of an attempt that will not publish; where others keep being quicker, housekeeping does."""
    for _ in range(_TRIES):
        left = [
            abandoned
            for abandoned in abandoned_branches(catalog.load_table(base.identifier), older_than=timedelta(0))
            if abandoned.branch.startswith(attempt.branch)
        ]
        try:
            for abandoned in left:
                drop_branch(catalog, abandoned)
        except CommitFailedException:
            continue
        return
