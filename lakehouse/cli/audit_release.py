"""The releases' part of `lakehouse audit`: tags, pointers and records agree, and each release is of one vintage."""

from collections.abc import Sequence

from rich.table import Column, Table

from lakehouse.catalog import LakeCatalog
from lakehouse.cli.context import Context
from lakehouse.release.audit import ReleaseProof, audit_release
from lakehouse.tables import Declarations


def release_proofs(
    context: Context, declared: Declarations, catalog: LakeCatalog, names: Sequence[str]
) -> list[ReleaseProof]:
    """Audit the named releases, or all of them.

    Raises:
        NoSuchTableError: the table of a pointer does not exist.
    """
    proofs: list[ReleaseProof] = []
    for name, release in sorted(declared.releases.items()):
        if not names or name in names:
            with context.err.status(f"auditing release {name}"):
                proofs.append(audit_release(catalog, release))
    return proofs


def show_releases(context: Context, proofs: Sequence[ReleaseProof]) -> None:
    """Print one line for each release; what is broken is for the caller to print."""
    lines = Table(
        Column("release", no_wrap=True),
        Column("current"),
        Column("tables", justify="right"),
        Column("runtime date", no_wrap=True),
        Column("readable", justify="right"),
        title="Releases, each tag against what was recorded",
        title_justify="left",
    )
    for proof in proofs:
        lines.add_row(
            proof.group, proof.current or "nothing yet", str(proof.tables), proof.runtime_date or "-", str(proof.kept)
        )
    context.out.print(lines)
    for proof in proofs:
        for told in proof.undecided:
            context.out.print(f"{proof.group}: {told}", highlight=False, markup=False, soft_wrap=True)
