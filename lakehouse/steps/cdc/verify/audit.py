"""Everything that a mirror can prove of itself, at once: what `lakehouse audit` shows."""

import time
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from lakehouse.declarations import Declarations, MirrorTables
from lakehouse.declarations.schema_changes.mirror_changes import mirror_problems
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import table_name
from lakehouse.proofs.audit import Finding
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.damage.attempted import Attempted, Heads
from lakehouse.protocol.seals.partial_group import PartialGroup, read_partial_group
from lakehouse.steps.cdc.evidence import Evidence, evidence_of, judge_seals
from lakehouse.steps.cdc.replay.checkpoints import newest_checkpoint
from lakehouse.steps.cdc.replay.consumed import CheckpointRemoved
from lakehouse.steps.cdc.verify.counters import BalanceProof, check_balance
from lakehouse.steps.cdc.verify.doubt import Doubt, find_doubt
from lakehouse.steps.cdc.verify.ordering import OrderProof, check_order
from lakehouse.steps.cdc.verify.unique import KeyProof, check_keys
from lakehouse.steps.cdc.verify.verify import FoldProof, check_fold


@dataclass(frozen=True)
class MirrorProof:
    """The proof of one mirror.

    Args:
        lost: files of its tables that cannot be read any more, and tags that were removed.
        errors: what kept a part of the proof from being carried out; what the other parts found is in `findings`.
    """

    mirror: str
    fold: FoldProof
    balance: BalanceProof
    keys: KeyProof
    order: OrderProof
    doubt: Doubt
    seconds: float
    lost: tuple[Finding, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def findings(self) -> list[Finding]:
        """Every broken promise, once."""
        findings = dict.fromkeys((*self.fold.findings, *self.balance.findings, *self.lost))
        if not self.keys.holds:
            findings[Finding("key_repeated", f"{self.mirror}: {'; '.join(self.keys.examples)}.", self.mirror)] = None
        if not self.order.holds:
            findings[Finding("contradiction", f"{self.mirror}: {'; '.join(self.order.examples)}.", self.mirror)] = None
        if not self.order.late.holds:
            findings[Finding("too_late", f"{self.mirror}: {self.order.late}", self.mirror)] = None
        if not self.doubt.bearable:
            message = (
                f"{self.doubt}, more than the {self.doubt.allowed:,} that it allows: {'; '.join(self.doubt.examples)}."
            )
            findings[Finding("doubtful_keys", message, self.mirror)] = None
        return list(findings)

    @property
    def holds(self) -> bool:
        """Whether no promise is broken."""
        return not self.findings

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "mirror": self.mirror,
            "holds": self.holds,
            "findings": [asdict(finding) for finding in self.findings],
            "snapshot_id": self.fold.snapshot_id,
            "changelog_snapshot_id": self.fold.end,
            "looked_at": self.fold.looked_at,
            "folded_from": self.fold.began,
            "changes": self.fold.changes,
            "refused": self.fold.refused,
            "rows": self.keys.rows,
            "compared": self.fold.difference.compared,
            "difference": dict(self.fold.difference.counts),
            "columns": dict(self.fold.difference.columns),
            "examples": [asdict(example) for example in self.fold.examples],
            "seals": self.balance.seals,
            "proven_from": dict(self.balance.proven_from or {}),
            "duplicates": self.order.duplicates,
            "out_of_order": self.order.out_of_order,
            "latest_seconds": self.order.latest.total_seconds(),
            "doubtful_keys": self.doubt.keys,
            "refused_of_unknown_key": self.doubt.unknown,
            "doubtful": list(self.doubt.examples),
            "errors": list(self.errors),
            "seconds": self.seconds,
        }


def audit_mirror(
    catalog: LakeCatalog, tables: MirrorTables, declarations: Declarations, *, full: bool = False
) -> MirrorProof:
    """Prove that a mirror is what its changelog makes.

    Args:
        catalog: where the tables live.
        tables: the mirror as declared.
        declarations: with its stream.
        full: compare every key, however many there are.

    What cannot be loaded, read, or folded any more, keeps nothing else from being found.
    """
    began = time.monotonic()
    loaded = read_partial_group(catalog, [*(table.name for table in tables.tables), tables.changelog.name])
    if not loaded.whole:
        uncompared = f"{tables.mirror.name} cannot be compared with its changelog without {', '.join(loaded.unloaded)}."
        return _audit_remains(tables, loaded, began, uncompared)
    if otherwise := _declared_otherwise(tables, loaded):
        return _audit_remains(tables, loaded, began, *otherwise)
    evidence, name = evidence_of(tables, loaded.tables), tables.mirror.name
    limit = 2**62 if full else None
    own = [(pinned.table, pinned.snapshot_id) for pinned in (evidence.mirror, evidence.tombstones, evidence.quarantine)]
    tables_read = [*own, (evidence.changelog.table, evidence.changelog.snapshot_id)]
    attempted, removed = Attempted(), list[Finding]()

    def fold_again() -> FoldProof | None:
        try:
            return check_fold(catalog, tables, evidence=evidence, limit=limit)
        except CheckpointRemoved as error:
            removed.append(Finding("checkpoint_removed", str(error), error.table))
            return None

    balance, keys, order, doubt, fold = (
        attempted.part(
            f"{name}: the balance of its seals", tables_read, partial(check_balance, tables, evidence), None
        ),
        attempted.part(f"{name}: its keys", own[:1], partial(check_keys, tables, evidence.mirror), None),
        attempted.part(f"{name}: the order of its changes", tables_read, partial(check_order, tables, evidence), None),
        attempted.part(
            f"{name}: its keys in doubt",
            tables_read,
            partial(find_doubt, catalog, tables, declarations, evidence=evidence),
            None,
        ),
        attempted.part(
            f"{name}: that it is what its changelog makes",
            [*tables_read, *_checkpointed(evidence)],
            fold_again,
            None,
        ),
    )
    return MirrorProof(
        mirror=name,
        balance=balance or BalanceProof(name, findings=evidence.findings),
        keys=keys or KeyProof(evidence.mirror.snapshot_id),
        order=order or OrderProof(),
        doubt=doubt or Doubt(name),
        fold=fold or FoldProof(name, evidence.mirror.snapshot_id, findings=evidence.findings),
        seconds=round(time.monotonic() - began, 3),
        lost=(*removed, *(Finding.of(damage) for damage in attempted.damages if damage.lost)),
        errors=tuple(attempted.errors),
    )


def _declared_otherwise(tables: MirrorTables, loaded: PartialGroup) -> list[str]:
    """Why the tables cannot be judged by this declaration: their seals count by the one that they were made with."""
    problems = {
        f"{tables.mirror.name}: {problem.message}. Remedy: {problem.remedy}"
        for table in tables.tables
        for problem in mirror_problems(table, loaded.tables[table.name].table.schema())
    }
    return sorted(problems)


def _audit_remains(tables: MirrorTables, loaded: PartialGroup, began: float, *errors: str) -> MirrorProof:
    """What the tables say that can still be loaded, or judged.

    The three of a mirror are made together, before the first seal of any: where one of them is sealed, all were there.
    """
    name = tables.mirror.name
    own = [table.name for table in tables.tables]
    sealed = judge_seals({table: loaded.tables[table] for table in own if table in loaded.tables})
    run = sealed.newest.run_id if sealed.newest else None
    gone = [
        Finding("table_gone", f"{table} was dropped: its siblings carry the seals of run {run}.", table)
        for table in loaded.missing
        if run is not None and table in own
    ]
    damaged = [Finding.of(damage) for damage in loaded.damages]
    named = {finding.table for finding in (*gone, *damaged)}
    unnamed = [reason for table, reason in loaded.unloaded.items() if table not in named]
    return MirrorProof(
        mirror=name,
        balance=BalanceProof(name, findings=sealed.findings),
        keys=KeyProof(None),
        order=OrderProof(),
        doubt=Doubt(name),
        fold=FoldProof(name, None),
        seconds=round(time.monotonic() - began, 3),
        lost=(*gone, *damaged),
        errors=(*unnamed, *errors),
    )


def _checkpointed(evidence: Evidence) -> Heads:
    """What the fold may begin with: the newest checkpoint, whose files need not be in the tables any more."""
    try:
        checkpoint = newest_checkpoint(evidence)
    except LakehouseError:  # the fold says so, where it needs it
        return []
    if checkpoint is None:
        return []
    tables = (evidence.mirror.table, evidence.tombstones.table, evidence.quarantine.table)
    return [(table, checkpoint.snapshots[table_name(table)]) for table in tables]
