"""`lakehouse audit` of mirrors: each is what its changelog makes."""

from collections.abc import Sequence

from rich.table import Column, Table

from lakehouse.cli.commands.prove.audit_scope import Auditing, Kind
from lakehouse.cli.context import Context
from lakehouse.steps.cdc.verify.audit import MirrorProof, audit_mirror


def _prove(auditing: Auditing, name: str) -> MirrorProof:
    declared = auditing.declared
    return audit_mirror(auditing.catalog, declared.mirrors[name], declared, full=auditing.full)


def _show(context: Context, proofs: Sequence[MirrorProof]) -> None:
    lines = Table(
        Column("mirror", no_wrap=True),
        Column("rows", justify="right"),
        Column("changes", justify="right"),
        Column("in quarantine", justify="right"),
        Column("keys in doubt", justify="right"),
        Column("compared"),
        title="Mirrors, each against its changelog",
        title_justify="left",
    )
    for proof in proofs:
        counts = (
            f"{proof.keys.rows:,}",
            f"{proof.fold.changes:,}",
            f"{proof.fold.refused:,}",
            f"{proof.doubt.count:,}",
        )
        lines.add_row(proof.mirror, *counts, proof.fold.looked_at or "nothing yet")
    context.out.print(lines)
    for proof in proofs:
        if proof.doubt.count and proof.doubt.bearable:
            message = f"IN DOUBT {proof.doubt}: {'; '.join(proof.doubt.examples)}."
            context.out.print(message, style="yellow", markup=False, highlight=False, soft_wrap=True)


MIRRORS = Kind("mirrors", lambda declared: sorted(declared.mirrors), _prove, _show, unsure=lambda proof: proof.errors)
