"""`lakehouse audit` of releases: tags, pointer and record agree, and what readers get is of one vintage."""

from collections.abc import Sequence

from rich.table import Column, Table

from lakehouse.cli.commands.prove.audit_scope import Auditing, Kind
from lakehouse.cli.context import Context
from lakehouse.steps.release.audit import ReleaseProof, audit_release


def _prove(auditing: Auditing, name: str) -> ReleaseProof:
    return audit_release(auditing.catalog, auditing.declared.releases[name])


def _show(context: Context, proofs: Sequence[ReleaseProof]) -> None:
    lines = Table(
        Column("release", no_wrap=True),
        Column("current", overflow="fold"),
        Column("tables", justify="right"),
        Column("runtime date", no_wrap=True),
        Column("readable", justify="right"),
        title="Releases, each tag against what was recorded",
        title_justify="left",
    )
    for proof in proofs:
        now = proof.current or "nothing yet"
        lines.add_row(proof.group, now, str(proof.tables), proof.runtime_date or "-", str(proof.kept))
    context.out.print(lines)
    for proof in proofs:
        # Proven when it was released; that nobody can tell any more is no broken promise.
        for message in proof.undecided:
            context.out.print(f"{proof.group}: {message}", highlight=False, markup=False, soft_wrap=True)


RELEASES = Kind(
    "releases", lambda declared: sorted(declared.releases), _prove, _show, unsure=lambda proof: proof.errors
)
