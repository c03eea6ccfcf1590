"""What the tags of a run say that maintenance may do."""

import re

from dagster import DagsterRun

from lakehouse.errors import LakehouseError
from lakehouse.orchestration.run_context import ALLOW_TAG, OPERATIONS_TAG
from lakehouse.steps.maintenance.model.action import Operation

_DIGEST = re.compile("[0-9a-f]{32}")


class MaintenanceTagInvalid(LakehouseError):
    """A tag that says what maintenance may do is not understood."""


def requested_operations(run: DagsterRun) -> tuple[Operation, ...]:
    """The operations that the run's tag `lakehouse/operations` asks for, such as `rewrite,expire`; all without the tag.

    Raises:
        MaintenanceTagInvalid: there is no such operation.
    """
    given = run.tags.get(OPERATIONS_TAG)
    if given is None:
        return tuple(Operation)
    try:
        return tuple(Operation(word.strip()) for word in given.split(","))
    except ValueError:
        raise MaintenanceTagInvalid(
            f"The run tag {OPERATIONS_TAG} is {given!r}.", remedy=f"write some of {', '.join(Operation)}, with commas."
        ) from None


def approvals_of(run: DagsterRun) -> frozenset[str]:
    """Digests of the plans whose deletions the run's tag `lakehouse/allow` approves of, such as `<digest>,<digest>`.

    Raises:
        MaintenanceTagInvalid: it holds something else; a word such as `true` anybody can guess.
    """
    given = run.tags.get(ALLOW_TAG)
    if given is None:
        return frozenset()
    digests = [word.strip() for word in given.split(",")]
    if not all(_DIGEST.fullmatch(digest) for digest in digests):
        raise MaintenanceTagInvalid(
            f"The run tag {ALLOW_TAG} is {given!r}, which is no digest of a plan.",
            remedy="run it without the tag: it deletes nothing, and its result says which tag to run it with.",
        )
    return frozenset(digests)
