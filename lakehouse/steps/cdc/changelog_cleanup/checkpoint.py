"""Makes checkpoints: every key is compared with the changelog before a state may stand for the changes that made it."""

from lakehouse.declarations import MirrorTables
from lakehouse.errors import LakehouseError
from lakehouse.proofs.audit import Finding
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.steps.cdc.evidence import read_evidence
from lakehouse.steps.cdc.replay.buckets import Buckets
from lakehouse.steps.cdc.replay.checkpoints import Checkpoint, set_tags
from lakehouse.steps.cdc.verify.counters import check_balance
from lakehouse.steps.cdc.verify.verify import check_fold


class NotProven(LakehouseError):
    """The mirror is not what its changelog makes, so nothing can begin from it."""

    def __init__(self, mirror: str, findings: tuple[Finding, ...]) -> None:
        super().__init__(
            f"{mirror} is not proven: {findings[0].message if findings else 'nothing was mirrored yet.'}",
            remedy="look at `lakehouse audit`, then rebuild the mirror",
        )
        self.findings = findings


def make_checkpoint(catalog: LakeCatalog, tables: MirrorTables) -> Checkpoint:
    """Prove a mirror as it is now, key by key, and tag that very state.

    A large mirror is proven in parts, so that memory stays bounded; each part reads the changelog once.

    Raises:
        NotProven: it is not what its changelog makes; nothing was tagged.
        CannotFold: the changes are not all there any more.
        CommitFailedException: the tables were changed meanwhile; nothing was tagged.
    """
    evidence = read_evidence(catalog, tables)
    name = tables.mirror.name
    if evidence.newest is None:
        raise NotProven(name, ())
    balance = check_balance(tables, evidence)
    if not balance.holds:
        raise NotProven(name, balance.findings)
    statement = evidence.newest.statement
    size = max(sum(statement.total_operations.values()), statement.rows)
    for part in Buckets.all_in_parts(size, tables.mirror.full_check_rows):
        proof = check_fold(catalog, tables, evidence=evidence, buckets=part)
        if not proof.holds:
            raise NotProven(name, proof.findings)
    return set_tags(catalog, evidence)
