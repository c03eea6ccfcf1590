"""Everything that a mirror can prove of itself, at once: what `lakehouse audit` shows."""

import time
from dataclasses import asdict, dataclass
from typing import Any

from lakehouse.audit import Finding
from lakehouse.catalog import LakeCatalog
from lakehouse.cdc.balance import BalanceProof, check_balance
from lakehouse.cdc.doubt import Doubt, find_doubt
from lakehouse.cdc.evidence import read_evidence
from lakehouse.cdc.order import OrderProof, check_order
from lakehouse.cdc.unique import KeyProof, check_keys
from lakehouse.cdc.verify import FoldProof, check_fold
from lakehouse.tables import Declarations, MirrorTables


@dataclass(frozen=True)
class MirrorProof:
    """The proof of one mirror."""

    mirror: str
    fold: FoldProof
    balance: BalanceProof
    keys: KeyProof
    order: OrderProof
    doubt: Doubt
    seconds: float

    @property
    def findings(self) -> list[Finding]:
        """Every broken promise, once."""
        found = dict.fromkeys((*self.fold.findings, *self.balance.findings))
        if not self.keys.holds:
            found[Finding("key_repeated", f"{self.mirror}: {'; '.join(self.keys.examples)}.", self.mirror)] = None
        if not self.order.holds:
            found[Finding("contradiction", f"{self.mirror}: {'; '.join(self.order.examples)}.", self.mirror)] = None
        if not self.order.late.holds:
            found[Finding("too_late", f"{self.mirror}: {self.order.late}", self.mirror)] = None
        if not self.doubt.bearable:
            told = (
                f"{self.doubt}, more than the {self.doubt.allowed:,} that it allows: {'; '.join(self.doubt.examples)}."
            )
            found[Finding("doubtful_keys", told, self.mirror)] = None
        return list(found)

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

    Raises:
        NoSuchTableError: a table does not exist.
        CannotFold: the changes are not all there any more.
    """
    began = time.monotonic()
    seen = read_evidence(catalog, tables)
    limit = 2**62 if full else None
    doubt = find_doubt(catalog, tables, declarations, evidence=seen)
    assert doubt is not None  # without a limit it never gives up
    return MirrorProof(
        mirror=tables.mirror.name,
        balance=check_balance(tables, seen),
        keys=check_keys(tables, seen.mirror),
        order=check_order(tables, seen),
        doubt=doubt,
        fold=check_fold(catalog, tables, evidence=seen, limit=limit),
        seconds=round(time.monotonic() - began, 3),
    )
