"""`lakehouse audit --scan` of files: is each that a table lists there, whole, and as manifests claim?

Most proofs ask manifests alone, so that they cost little; a file that was removed or cut afterwards is in them as
before. Whoever wants to know of every file asks for a scan. Of streams' tables, that reads the rows as well. What a
tag keeps for a release or a checkpoint is looked at, too: it is read after the table has gone on.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pyiceberg.table.refs import SnapshotRefType
from rich.table import Column, Table

from lakehouse.cli.commands.prove.audit_scope import Auditing, Kind, all_tables, show_finding, stream_tables
from lakehouse.cli.context import Context
from lakehouse.proofs.audit import Finding, FindingsDecide
from lakehouse.protocol.seals.damage import damages
from lakehouse.protocol.seals.history import head_of


@dataclass(frozen=True)
class FilesProof(FindingsDecide):
    """The proof of one table.

    Args:
        table: any declared one.
        scanned: whether its files were looked at.
        findings: files that are not there, cannot be read, or hold another number of rows.
        errors: files that are sound, and that no proof can read.
    """

    table: str
    scanned: bool = False
    findings: tuple[Finding, ...] = ()
    errors: tuple[str, ...] = ()


def _prove(auditing: Auditing, name: str) -> FilesProof:
    if not auditing.scan:
        return FilesProof(name)
    if (table := auditing.tables.load(name)) is None:
        return FilesProof(name)
    known: set[str] = set()
    current = damages(table, head_of(table), content=False, known=known)
    # The rows of a stream's tables are read by the proof of the stream, which asks nothing of what manifests claim.
    in_stream = name in stream_tables(auditing.declared)
    damaged = [(d, d.message) for d in current if d.kind == "misdescribed_file" or not in_stream]
    for tag, reference in sorted(table.metadata.refs.items()):
        if reference.snapshot_ref_type == SnapshotRefType.TAG:
            kept = damages(table, reference.snapshot_id, content=False, known=known)
            damaged += [(damage, f"{damage.message} The tag {tag} keeps it.") for damage in kept]
    return FilesProof(
        table=name,
        scanned=True,
        findings=tuple(Finding(damage.kind, message, damage.table) for damage, message in damaged if damage.lost),
        errors=tuple(message for damage, message in damaged if not damage.lost),
    )


def _show(context: Context, proofs: Sequence[FilesProof]) -> None:
    scanned = [proof for proof in proofs if proof.scanned]
    if not scanned:
        return
    lines = Table(
        Column("table", no_wrap=True),
        Column("files that are lost", justify="right"),
        title="Files, each looked at",
        title_justify="left",
    )
    for proof in scanned:
        lines.add_row(proof.table, str(len(proof.findings)))
    context.out.print(lines)
    for proof in scanned:
        for finding in proof.findings:
            show_finding(context, finding)


FILES = Kind("files", all_tables, _prove, _show, unsure=lambda proof: proof.errors)
