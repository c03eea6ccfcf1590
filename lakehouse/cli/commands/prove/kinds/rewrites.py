"""`lakehouse audit` of rewrites that did not come by our protocol: have they kept every row?"""

from collections.abc import Sequence

from rich.table import Column, Table

from lakehouse.cli.commands.prove.audit_scope import Auditing, Kind, all_tables
from lakehouse.cli.context import Context
from lakehouse.steps.maintenance.verify.foreign_rewrites import RewritesProof, audit_rewrites


def _prove(auditing: Auditing, name: str) -> RewritesProof:
    if (table := auditing.tables.load(name)) is None:
        return RewritesProof(name)
    return audit_rewrites(table, in_process=auditing.in_process)


def _show(context: Context, proofs: Sequence[RewritesProof]) -> None:
    lines = Table(
        Column("table", no_wrap=True),
        Column("proven", justify="right"),
        Column("not proven", justify="right"),
        Column("changed rows", justify="right"),
        title="Rewrites from outside the protocol",
        title_justify="left",
    )
    for proof in proofs:
        if proof.proven or proof.unproven or proof.findings:
            counts = (len(proof.proven), len(proof.unproven), len(proof.findings))
            lines.add_row(proof.table, *map(str, counts))
    if not lines.row_count:
        return
    context.out.print(lines)


REWRITES = Kind("rewrites", all_tables, _prove, _show, unsure=lambda proof: proof.unproven)
