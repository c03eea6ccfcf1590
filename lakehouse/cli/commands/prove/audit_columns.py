"""`lakehouse audit` of columns: has every table those that it once had, and that are still declared?"""

from collections.abc import Sequence

from pyiceberg.exceptions import NoSuchTableError

from lakehouse.cli.commands.prove.audit_scope import Auditing, Kind, all_tables, show_finding
from lakehouse.cli.context import Context
from lakehouse.iceberg.names import identifier_of
from lakehouse.proofs.audit.columns import ColumnsProof, audit_columns


def _prove(auditing: Auditing, name: str) -> ColumnsProof:
    try:
        table = auditing.catalog.load_table(identifier_of(name))
    except NoSuchTableError:  # what is not there has no columns
        return ColumnsProof(name)
    return audit_columns(table, auditing.declared.tables[name])


def _show(context: Context, proofs: Sequence[ColumnsProof]) -> None:
    for proof in proofs:
        for finding in proof.findings:
            show_finding(context, finding)


COLUMNS = Kind("columns", all_tables, _prove, _show)
