"""`lakehouse audit` of the catalog's entries: does every table stand on files of its own?

Two entries of one table (`register_table`) go on apart, and neither knows what the other still needs or writes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lakehouse.cli.commands.prove.audit_scope import Auditing, Kind, all_tables, show_finding
from lakehouse.cli.context import Context
from lakehouse.iceberg.names import identifier_of
from lakehouse.proofs.audit import Finding, FindingsDecide


@dataclass(frozen=True)
class EntryProof(FindingsDecide):
    """The proof of one table.

    Args:
        table: any that is declared.
        findings: what it shares with which other entry of the catalog.
        errors: why nobody can say.
    """

    table: str
    findings: tuple[Finding, ...] = ()
    errors: tuple[str, ...] = ()


def _prove(auditing: Auditing, name: str) -> EntryProof:
    try:
        shared = auditing.shared.get(identifier_of(name), ())
    except Exception as error:  # noqa: BLE001 - a catalog that lists nothing hides nothing else that is wrong
        message = f"The catalog does not list its entries ({type(error).__name__}): nobody can say which share files."
        return EntryProof(name, errors=(message,))
    return EntryProof(name, tuple(Finding("shared_files", _sharing_message(name, sharing), name) for sharing in shared))


def _sharing_message(name: str, sharing: str) -> str:
    return f"{name} shares {sharing}: neither knows what the other needs. Drop one of the two without purging it."


def _show(context: Context, proofs: Sequence[EntryProof]) -> None:
    for proof in proofs:
        for finding in proof.findings:
            show_finding(context, finding)


ENTRIES = Kind("entries", all_tables, _prove, _show, unsure=lambda proof: proof.errors)
