"""Dagster's warning of a blocking check without a result, where there is nothing to warn of.

A step that finds nothing new materializes nothing. Dagster then skips the checks of its tables, and all that is
computed from these tables; of each such check it warns all the same that what is computed "will proceed without
gating on it", just before it skips that.

Our checks depend on no table but their own, and answer for it or fail, so of them the warning is never true: without a
result, there is nothing new in the table. A user's own check may well end without one, and that is worth a warning.
"""

import logging
import re
from collections.abc import Iterable

import dagster as dg
from typing_extensions import override

_LOGGER = logging.getLogger("dagster._core.execution.plan.active")
_WARNING = re.compile(r"Blocking asset check '.*' emitted no result in step '(?P<step>[^']+)'")


class _OfOurs(logging.Filter):
    """Lets every line pass that is no such warning about one of these steps."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: set[str] = set()

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        match = _WARNING.match(record.getMessage())
        return match is None or match["step"] not in self.steps


_of_ours = _OfOurs()


def expect_unanswered(checks: Iterable[dg.AssetChecksDefinition]) -> None:
    """Do not log the warning, in this process, for checks that end without a result only where they are skipped."""
    _of_ours.steps |= {definition.op.name for definition in checks}
    _LOGGER.addFilter(_of_ours)  # the same filter is added once
