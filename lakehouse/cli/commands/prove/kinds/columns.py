"""`lakehouse audit` of columns: has every table those that it once had, and that are still declared?"""

from lakehouse.cli.commands.prove.audit_scope import Auditing, Kind, all_tables, show_nothing
from lakehouse.proofs.audit.columns import ColumnsProof, audit_columns


def _prove(auditing: Auditing, name: str) -> ColumnsProof:
    if (table := auditing.tables.load(name)) is None:
        return ColumnsProof(name)
    return audit_columns(table, auditing.declared.tables[name])


COLUMNS = Kind("columns", all_tables, _prove, show_nothing)
