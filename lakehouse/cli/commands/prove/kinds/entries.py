"""`lakehouse audit` of the catalog's entries: does every table stand on files of its own?

Two entries of one table (`register_table`) go on apart, and neither knows what the other still needs or writes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lakehouse.cli.commands.prove.audit_scope import Auditing, Kind, all_tables
from lakehouse.cli.context import Context
from lakehouse.iceberg.format_version import DOWNGRADE, unwritable_version
from lakehouse.iceberg.names import identifier_of
from lakehouse.iceberg.own_files import is_outside_warehouse, warehouse_of
from lakehouse.proofs.audit import Finding, FindingsDecide
from lakehouse.protocol.catalog import Entry, LakeCatalog


@dataclass(frozen=True)
class EntryProof(FindingsDecide):
    """The proof of one table.

    Args:
        table: any that is declared.
        findings: what it shares with which other entry of the catalog.
        errors: why nobody can say.
        warnings: what breaks no promise and should be known.
    """

    table: str
    findings: tuple[Finding, ...] = ()
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def _prove(auditing: Auditing, name: str) -> EntryProof:
    try:
        shared = auditing.shared.get(identifier_of(name), ())
    except Exception as error:  # noqa: BLE001 - a catalog that lists nothing hides nothing else that is wrong
        message = f"The catalog does not list its entries ({type(error).__name__}): nobody can say which share files."
        return EntryProof(name, errors=(message,))
    findings = tuple(Finding("shared_files", _sharing_message(name, sharing), name) for sharing in shared)
    return EntryProof(name, findings, warnings=_warnings(auditing, name))


def _warnings(auditing: Auditing, name: str) -> tuple[str, ...]:
    return (*_outside(auditing.catalog, name), *_unwritable(auditing.entries.get(identifier_of(name)), name))


def _unwritable(entry: Entry | None, name: str) -> tuple[str, ...]:
    """That no step can go on with a table: what it holds is as it was."""
    reason = unwritable_version(entry.format_version) if entry else ""
    return (f"{name}: {reason}. Remedy: {DOWNGRADE}.",) if reason else ()


def _outside(catalog: LakeCatalog, name: str) -> tuple[str, ...]:
    """That a table lies outside of the warehouse: somebody registered it there, or the lakehouse is a copy."""
    identifier = identifier_of(name)
    location = catalog.locations([identifier]).known.get(identifier) if warehouse_of(catalog) else None
    if location is None or not is_outside_warehouse(catalog, location):
        return ()
    return (
        f"{name} has its metadata at {location}, outside of the warehouse {warehouse_of(catalog)}. If this lakehouse "
        "is a copy, what it writes there is the original's. None of its files is ever deleted from here.",
    )


def _sharing_message(name: str, sharing: str) -> str:
    return f"{name} shares {sharing}: neither knows what the other needs. Drop one of the two without purging it."


def _show(context: Context, proofs: Sequence[EntryProof]) -> None:
    for proof in proofs:
        for warning in proof.warnings:
            context.out.print(f"WARNING: {warning}", style="yellow", soft_wrap=True, markup=False, highlight=False)


ENTRIES = Kind("entries", all_tables, _prove, _show, unsure=lambda proof: proof.errors)
