"""Removal of abandoned branches: of attempts that died before they published, with the files only those could see."""

from datetime import timedelta

from pyiceberg.exceptions import CommitFailedException

from lakehouse.declarations.own_tables.action_effect import ActionEffect
from lakehouse.protocol.cleanup.housekeeping import LONGEST_RUN, Abandoned, abandoned_branches, drop_branch
from lakehouse.steps.maintenance.model.action import Action, ActionOutcome, MaintenanceWork


def abandoned_after(longest_run: timedelta) -> timedelta:
    """How old a branch is that nobody will publish any more: older than any run has ever become, and than a day."""
    return max(LONGEST_RUN, longest_run)


def run(work: MaintenanceWork, action: Action) -> ActionOutcome:
    """Remove the abandoned branches of a table."""
    table = work.catalog.load_table(work.base.identifier)
    branches = abandoned_branches(table, older_than=abandoned_after(work.longest_run))
    if not branches:
        return ActionOutcome(action=action, result="nothing", message="no branch is abandoned")
    if not work.allow:
        names = ", ".join(abandoned.branch for abandoned in branches)
        return ActionOutcome(
            action=action,
            result="dry_run",
            message=f"would remove {names}",
            effect=ActionEffect(branches=len(branches)),
        )
    removed, files, messages = 0, 0, list[str]()
    for abandoned in branches:
        try:
            deleted = drop_branch(work.catalog, abandoned)
        except CommitFailedException:
            # It was published, or its run is alive after all: nothing was touched.
            messages.append(f"{abandoned.branch} moved meanwhile and stays")
            continue
        removed, files = removed + 1, files + deleted
        messages.append(_describe(abandoned, deleted))
    return ActionOutcome(
        action=action,
        result="done" if removed else "nothing",
        message="; ".join(messages),
        effect=ActionEffect(branches=removed, files=files),
    )


def _describe(abandoned: Abandoned, files: int) -> str:
    hours = abandoned.age / timedelta(hours=1)
    return f"removed {abandoned.branch}, {hours:.0f} h old, with {files} files"
