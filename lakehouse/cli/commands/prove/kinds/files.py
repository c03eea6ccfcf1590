"""`lakehouse audit` of files: is each that a table lists there, whole, and as manifests claim?

Most proofs ask manifests alone, so that they cost little; a file that was removed, cut or written anew afterwards is in
them as before. So storage is asked which files there are, and how large each is. A scan reads every page of every file,
with its checksum. What a tag keeps for a release or a checkpoint is looked at, too: it is read after the table has gone
on.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from pyiceberg.table import Table as IcebergTable
from pyiceberg.table.refs import SnapshotRefType
from rich.table import Column, Table

from lakehouse.cli.commands.prove.audit_scope import Auditing, Kind, all_tables
from lakehouse.cli.commands.prove.remedies import KEEPS_IT
from lakehouse.cli.context import Context
from lakehouse.declarations import Declarations
from lakehouse.proofs.audit import Finding, FindingsDecide
from lakehouse.proofs.audit.stored_files import stored_otherwise
from lakehouse.protocol.damage.damage import Damage
from lakehouse.protocol.damage.inspection import damages
from lakehouse.protocol.seals.history import head_of


@dataclass(frozen=True)
class FilesProof(FindingsDecide):
    """The proof of one table.

    Args:
        table: any declared one.
        scanned: whether its files were read, and not only asked for.
        findings: files that are not there, are of another size, cannot be read, or hold another number of rows.
        errors: files that are sound, and that no proof can read.
    """

    table: str
    scanned: bool = False
    findings: tuple[Finding, ...] = ()
    errors: tuple[str, ...] = ()


def _prove(auditing: Auditing, name: str) -> FilesProof:
    if (table := auditing.tables.load(name)) is None:
        return FilesProof(name)
    kept_by = _kept_by(table)
    damages = stored_otherwise(table, kept_by)
    if auditing.scan:
        read = _scanned(table, kept_by)
        known = {damage.path for damage in read}
        damages = [*read, *(d for d in damages if d.kind == "changed_file" and d.path not in known)]
    return FilesProof(
        table=name,
        scanned=auditing.scan,
        findings=tuple(Finding.of(damage) for damage in damages if damage.lost),
        errors=tuple(damage.message for damage in damages if not damage.lost),
    )


def _kept_by(table: IcebergTable) -> dict[int, str]:
    """Snapshot → what keeps it, in words: none for what every reader gets, which comes first."""
    head = head_of(table)
    kept_by = {} if head is None else {head: ""}
    for tag, reference in sorted(table.metadata.refs.items()):
        if reference.snapshot_ref_type == SnapshotRefType.TAG:
            kept_by.setdefault(reference.snapshot_id, f"The tag {tag} {KEEPS_IT}")
    return kept_by


def _scanned(table: IcebergTable, kept_by: Mapping[int, str]) -> list[Damage]:
    """What is wrong with files, by what is in them."""
    known, scanned = set[str](), list[Damage]()
    for snapshot_id, kept in kept_by.items():
        for damage in damages(table, snapshot_id, depth="pages", known=known):
            scanned.append(replace(damage, message=f"{damage.message} {kept}".rstrip()))
    return scanned


def _show(context: Context, proofs: Sequence[FilesProof]) -> None:
    lines = Table(
        Column("table", no_wrap=True),
        Column("files that are lost", justify="right"),
        title=f"Files, each {'read' if any(proof.scanned for proof in proofs) else 'asked for, with its size'}",
        title_justify="left",
    )
    for proof in proofs:
        if proof.scanned or proof.findings:
            lines.add_row(proof.table, str(len(proof.findings)))
    if lines.row_count:
        context.out.print(lines)


def _asked(declared: Declarations, names: Collection[str]) -> set[str]:
    """The tables whose files are asked for where some things are named: of a stream and a release, their tables."""
    asked = set(names)
    for name in names:
        if stream := declared.streams.get(name):
            asked |= {*stream.tables, stream.quarantine_table}
        if release := declared.releases.get(name):
            asked |= {*release.members, release.pointer}
    return asked


FILES = Kind("files", all_tables, _prove, _show, unsure=lambda proof: proof.errors, asked=_asked)
