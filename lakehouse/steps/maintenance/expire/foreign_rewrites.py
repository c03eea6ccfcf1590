"""Before expiry lets go of what a rewrite from outside took the place of, that rewrite is proven, and a seal says so.

So whoever compacts with another engine can expire: what is proven holds no snapshot any more. What is not proven stays
with the snapshot before it, for whoever has to compare them.
"""

from lakehouse.protocol.cleanup.vain_attempt import drop_branches_of
from lakehouse.protocol.commit import publish, seal_branch
from lakehouse.protocol.errors import CommitError
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.foreign_rewrites import unproven_rewrites
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.maintenance.model.action import MaintenanceWork
from lakehouse.steps.maintenance.verify.foreign_rewrites import prove_rewrites


def seal_proven_rewrites(work: MaintenanceWork) -> str:
    """Prove the rewrites that are neither proven nor settled, and seal which of them hold the same rows.

    Returns:
        What was done, in words; empty where nothing was.
    """
    base = read_bases(work.catalog, [work.base.name])[work.base.name]
    if base.sealed is None or base.unsealed:
        return ""
    rewrites = unproven_rewrites(base.table, base.snapshot_id)
    proven = prove_rewrites(base.table, rewrites, work.in_process_proof).proven if rewrites else ()
    if not proven:
        return ""
    attempt = work.attempt.again()
    try:
        seal = Seal.repeated(base.sealed.seal, attempt, proven=proven)
        publish(work.catalog, [seal_branch(work.catalog, base, attempt, seal)])
    except CommitError as overtaken:
        drop_branches_of(work.catalog, base, attempt)
        return f"rewrites from outside are proven at the next look: {overtaken.message}"
    count = "1 rewrite" if len(proven) == 1 else f"{len(proven)} rewrites"
    return f"{count} from outside proven to hold the same rows"
