"""Removal of abandoned branches: of attempts that died before they published, with the files only those could see."""

from datetime import timedelta

from pyiceberg.exceptions import CommitFailedException

from lakehouse.protocol.cleanup.housekeeping import LONGEST_RUN, Abandoned, abandoned_branches, drop_branch
from lakehouse.steps.maintenance.model.action import Action, ActionOutcome, MaintenanceWork


def abandoned_after(longest_run: timedelta) -> timedelta:
    """How old a branch is that nobody will publish any more: older than any run has ever become, and than a day."""
    return max(LONGEST_RUN, longest_run)


def run(work: MaintenanceWork, action: Action) -> ActionOutcome:
    """Remove the abandoned branches of a table."""
    table = work.catalog.load_table(work.base.identifier)
    found = abandoned_branches(table, older_than=abandoned_after(work.longest_run))
    if not found:
        return ActionOutcome(action=action, result="nothing", message="no branch is abandoned")
    if not work.allow:
        names = ", ".join(one.branch for one in found)
        return ActionOutcome(
            action=action, result="dry_run", message=f"would remove {names}", facts={"branches": len(found)}
        )
    removed, files, told = 0, 0, list[str]()
    for one in found:
        try:
            deleted = drop_branch(work.catalog, one)
        except CommitFailedException:
            # It was published, or its run is alive after all: nothing was touched.
            told.append(f"{one.branch} moved meanwhile and stays")
            continue
        removed, files = removed + 1, files + deleted
        told.append(_describe(one, deleted))
    return ActionOutcome(
        action=action,
        result="done" if removed else "nothing",
        message="; ".join(told),
        facts={"branches": removed, "files": files},
    )


def _describe(one: Abandoned, files: int) -> str:
    hours = one.age / timedelta(hours=1)
    return f"removed {one.branch}, {hours:.0f} h old, with {files} files"
