"""Has a table every column that it once had, and that is still declared?

`lakehouse apply` drops and renames nothing. Somebody else can: then what the column held is not seen any more, and most
proofs end before they can say so.
"""

from dataclasses import dataclass

from pyiceberg.table import Table

from lakehouse.declarations import Table as DeclaredTable
from lakehouse.declarations.columns.schemas import iceberg_schema
from lakehouse.iceberg.names import table_name
from lakehouse.proofs.audit.proof import Finding, FindingsDecide


@dataclass(frozen=True)
class ColumnsProof(FindingsDecide):
    """The proof of one table."""

    table: str
    findings: tuple[Finding, ...] = ()


def audit_columns(table: Table, declared: DeclaredTable) -> ColumnsProof:
    """Compare a table's columns, and the fields within them, with its own older schemas.

    Declared columns that no schema had are not there yet: `lakehouse plan` names those.
    """
    name = table_name(table)
    current = table.schema()
    present = set(current.column_names)
    once_there = {field for schema in table.metadata.schemas for field in schema.column_names}
    wanted = iceberg_schema(declared).column_names
    gone = [field for field in wanted if field in once_there and field not in present]
    # Of a struct that is gone its fields are, too: one name says it.
    outermost = [field for field in gone if not any(field.startswith(f"{other}.") for other in gone)]
    if not outermost:
        return ColumnsProof(name)
    message = (
        f"{name} lacks {', '.join(outermost)}: somebody dropped or renamed what is declared. Rename back, or set the "
        "table's current schema to the one before; the files still hold the values."
    )
    return ColumnsProof(name, (Finding("columns_differ", message, name),))
