"""`lakehouse audit --scan` of files: is each that a table lists there, whole, and of as many rows as are counted in it?

Most proofs ask manifests alone, so that they cost little; a file that was removed or cut afterwards is in them as
before. Whoever wants to know of every file asks for a scan. Of streams' tables, that reads the rows as well.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyiceberg.exceptions import NoSuchTableError
from rich.table import Column, Table

from lakehouse.cli.commands.prove.audit_scope import Auditing, Kind, show_finding
from lakehouse.cli.context import Context
from lakehouse.declarations import Declarations
from lakehouse.iceberg.names import identifier_of
from lakehouse.proofs.audit import Finding, FindingsDecide
from lakehouse.protocol.seals.damage import damages
from lakehouse.protocol.seals.history import head_of


@dataclass(frozen=True)
class FilesProof(FindingsDecide):
    """The proof of one table.

    Args:
        table: any that no stream writes.
        looked: whether its files were looked at.
        findings: files that are not there, cannot be read, or hold another number of rows.
        errors: files that are sound, and that no proof can read.
    """

    table: str
    looked: bool = False
    findings: tuple[Finding, ...] = ()
    errors: tuple[str, ...] = ()


def _prove(auditing: Auditing, name: str) -> FilesProof:
    if not auditing.scan:
        return FilesProof(name)
    try:
        table = auditing.catalog.load_table(identifier_of(name))
    except NoSuchTableError:  # what is not there has no files
        return FilesProof(name)
    damaged = damages(table, head_of(table), content=False)
    return FilesProof(
        table=name,
        looked=True,
        findings=tuple(Finding(damage.kind, damage.message, damage.table) for damage in damaged if damage.lost),
        errors=tuple(damage.message for damage in damaged if not damage.lost),
    )


def _show(context: Context, proofs: Sequence[FilesProof]) -> None:
    looked = [proof for proof in proofs if proof.looked]
    if not looked:
        return
    lines = Table(
        Column("table", no_wrap=True),
        Column("files that are lost", justify="right"),
        title="Files, each looked at",
        title_justify="left",
    )
    for proof in looked:
        lines.add_row(proof.table, str(len(proof.findings)))
    context.out.print(lines)
    for proof in looked:
        for finding in proof.findings:
            show_finding(context, finding)


def _names(declared: Declarations) -> Iterator[str]:
    """All tables but those of streams, whose rows a scan reads."""
    streamed = {name for stream in declared.streams.values() for name in (*stream.tables, stream.quarantine_table)}
    yield from sorted(declared.tables.keys() - streamed)


FILES = Kind("files", _names, _prove, _show, unsure=lambda proof: proof.errors)
