"""What becomes of a batch that was read and may not be published.

Its branches are sealed with the reason and stay, so that a person can look at it. A stream that is stuck tries again
and again, so of its refused batches only the newest stays: each takes the branches of the one before with it.
"""

from collections.abc import Mapping
from datetime import timedelta

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table

from lakehouse import seal_keys
from lakehouse.errors import LakehouseError
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.cleanup.housekeeping import abandoned_branches, drop_branch
from lakehouse.protocol.errors import SealBroken
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.protocol.seals.history import last_seal

REFUSED = "refused"
"""Kind of the seal on a branch that will never be published."""


class BatchRefused(LakehouseError):
    """A batch was read and written to branches, and may not be published; the same offsets will be tried again."""


def reason_of(refusal: BatchRefused) -> dict[str, str]:
    """What the seals of a refused batch say beside what it read."""
    return {seal_keys.REFUSED_ERROR: type(refusal).__name__, seal_keys.REFUSED_REASON: refusal.message}


def drop_older(catalog: LakeCatalog, bases: Mapping[str, Base], attempt: Attempt) -> list[str]:
    """Remove the branches of earlier refused batches of the same step, with the files that only those can see.

    Returns:
        `table branch` of each that was removed.
    """
    dropped: list[str] = []
    for base in bases.values():
        table = catalog.load_table(base.identifier)
        for abandoned in abandoned_branches(table, older_than=timedelta(0)):
            if not abandoned.branch.startswith(attempt.branch) and _refused(table, abandoned.branch, attempt.step):
                try:
                    drop_branch(catalog, abandoned)
                except CommitFailedException:
                    continue  # somebody else wrote to the table at this moment: the next refusal, or housekeeping, does
                dropped.append(f"{base.name} {abandoned.branch}")
    return dropped


def _refused(table: Table, branch: str, step: str) -> bool:
    try:
        sealed = last_seal(table, branch)
    except SealBroken:  # nobody can say whose it is
        return False
    return sealed is not None and sealed.seal.kind == REFUSED and sealed.seal.step == step
