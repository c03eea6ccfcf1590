"""`lakehouse audit` of derived tables: one runtime date, one vintage, and nothing read that is not declared."""

from collections.abc import Sequence

from rich.table import Column, Table

from lakehouse.cli.commands.prove.audit_scope import Auditing, Kind
from lakehouse.cli.context import Context
from lakehouse.declarations import Declarations
from lakehouse.declarations.registry.derived_rules import order
from lakehouse.proofs.lineage.audit import DerivedProof, audit_derived


def _names(declared: Declarations) -> list[str]:
    return order(declared.derived)


def _prove(auditing: Auditing, name: str) -> DerivedProof:
    return audit_derived(auditing.tables.load_existing, auditing.declared.derived[name])


def _show(context: Context, proofs: Sequence[DerivedProof]) -> None:
    lines = Table(
        Column("derived table", no_wrap=True),
        Column("rows", justify="right"),
        Column("runtime date", no_wrap=True),
        Column("decided by"),
        Column("inputs", justify="right"),
        Column("versions above", justify="right"),
        title="Derived tables: runtime date, lineage, vintage",
        title_justify="left",
    )
    for proof in proofs:
        dates = proof.dates
        lines.add_row(
            proof.table,
            f"{dates.rows if dates else 0:,}",
            proof.runtime_date or "nothing yet",
            dates.decided_by if dates else "",
            str(len(proof.inputs)),
            str(max(0, proof.readings - 1)),
        )
    context.out.print(lines)
    for proof in proofs:
        for difference in proof.differing:
            line = f"BACKFILL ({proof.backfill}): {proof.table}: {difference}"
            context.out.print(line, style="yellow", soft_wrap=True, markup=False, highlight=False)


DERIVED = Kind("derived", _names, _prove, _show, unsure=lambda proof: proof.undecided)
