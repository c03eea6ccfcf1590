"""Regroups the entries of manifests by partition, without Spark and without touching a data file.

Every append leaves a manifest, of whatever partitions it wrote; a scan of one partition then has to read them all.
"""

import time

from lakehouse.declarations.own_tables.action_effect import ActionEffect
from lakehouse.protocol.cleanup.vain_attempt import drop_branches_of
from lakehouse.protocol.commit import Replacement, publish, stage_replacement
from lakehouse.protocol.errors import ContentChanged
from lakehouse.steps.maintenance.model.action import Action, ActionOutcome, MaintenanceWork
from lakehouse.steps.maintenance.rewrite.before_after import of_manifests
from lakehouse.steps.maintenance.rewrite.compact import OVERTAKEN

NAME = "rewrite_manifests"


def run(work: MaintenanceWork, action: Action) -> ActionOutcome:
    """Write all manifests anew, of the size that the policy says.

    Every entry stays what it is: its file, who added it, its sequence numbers. The commit itself reads back what it
    has written, and does not go on if one is missing, doubled or another one.

    Raises:
        CommitError: the publish ended in another way than well or overtaken.
    """
    began, before = time.monotonic(), of_manifests(work.base.table)
    if work.policy.manifests is None:
        raise ValueError(f"{work.base.name}: manifests are never regrouped, its policy says so.")
    if (source := work.base.snapshot_id) is None:
        return ActionOutcome(action=action, result="nothing", before=before, message="there is no snapshot")
    replacement = Replacement.of_manifests(source, target_size=work.policy.manifests.target_size)
    try:
        staged = stage_replacement(work.catalog, work.base, work.attempt, replacement, {"operation": NAME})
        published = publish(work.catalog, [staged])
    except ContentChanged as refused:
        return ActionOutcome(action=action, result="proof_failed", before=before, message=refused.message)
    except OVERTAKEN as overtaken:
        drop_branches_of(work.catalog, work.base, work.attempt)
        return ActionOutcome(action=action, result="overtaken", before=before, message=overtaken.message)
    table = work.catalog.load_table(work.base.identifier)
    after = of_manifests(table, seconds=time.monotonic() - began)
    return ActionOutcome(
        action=action,
        result="done",
        before=before,
        after=after,
        snapshot_id=published.snapshots[work.base.name],
        message=f"{before.files} manifests are now {after.files}",
        effect=ActionEffect(rebases=published.rebases),
    )
