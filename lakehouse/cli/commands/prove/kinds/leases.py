"""`lakehouse audit` of what old snapshots are kept for: can everybody who reads on from one still do so?"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pyiceberg.table import Table as IcebergTable
from rich.table import Column, Table

from lakehouse.cli.commands.prove.audit_scope import Auditing, Kind, all_tables
from lakehouse.cli.context import Context
from lakehouse.proofs.audit import Finding, FindingsDecide
from lakehouse.protocol.errors import SealBroken
from lakehouse.steps.maintenance.expire.consumers import can_plan
from lakehouse.steps.maintenance.expire.holds import holding_on
from lakehouse.steps.maintenance.expire.overdue import late, warning
from lakehouse.steps.release.errors import PointerDamaged


@dataclass(frozen=True)
class LeaseProof(FindingsDecide):
    """The proof of one table.

    Args:
        table: any that is declared.
        holders: who holds a snapshot of it and all that follow, as `lakehouse lease list` has them.
        findings: who cannot read on.
        overdue: leases that should have been renewed or ended: no broken promise, and not as it should be.
        errors: a seal that cannot be believed, so that nobody can say who reads on, or what is released.
    """

    table: str
    holders: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    overdue: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()


def _prove(auditing: Auditing, name: str) -> LeaseProof:
    if (table := auditing.tables.reload(name)) is None:  # leases move with every run of their owners
        return LeaseProof(name)
    try:
        return _proof(auditing, name, table)
    except (SealBroken, PointerDamaged) as broken:  # in its own words, so that it is told once for all tables
        return LeaseProof(name, errors=(str(broken),))


def _proof(auditing: Auditing, name: str, table: IcebergTable) -> LeaseProof:
    holders, now = holding_on(auditing.catalog, auditing.declared, table), datetime.now(UTC)
    return LeaseProof(
        table=name,
        holders=tuple(f"{holder.kind} {holder.owner}" for holder in holders),
        findings=tuple(
            Finding(
                "cut_off",
                f"{consumer.kind} {consumer.name} cannot read on: {consumer.message}"
                + (f" Remedy: {consumer.remedy}." if consumer.remedy else ""),
                name,
            )
            for consumer in can_plan(auditing.catalog, auditing.declared, name)
        ),
        overdue=tuple(warning(holder, now) for holder in late(holders, now)),
    )


def _show(context: Context, proofs: Sequence[LeaseProof]) -> None:
    lines = Table(
        Column("table", no_wrap=True),
        Column("held by", overflow="fold"),
        Column("can read on", no_wrap=True),
        title="Old snapshots, and who needs them",
        title_justify="left",
    )
    for proof in proofs:
        if proof.holders or not proof.holds:
            holders = ", ".join(proof.holders) or "nobody"
            lines.add_row(proof.table, holders, "all" if proof.holds else f"not {len(proof.findings)}")
    if not lines.row_count:
        return
    context.out.print(lines)
    for proof in proofs:
        for message in proof.overdue:
            context.out.print(f"{proof.table}: {message}", highlight=False, markup=False, soft_wrap=True)


LEASES = Kind("leases", all_tables, _prove, _show, unsure=lambda proof: proof.errors)
