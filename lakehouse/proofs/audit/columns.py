"""Has a table every column that it once had and that is still declared, and does each name mean the same values?

`lakehouse apply` drops and renames nothing. Somebody else can: then what the column held is not seen any more, or is
seen under another name, and most proofs end before they can say so.
"""

from dataclasses import dataclass

from pyiceberg.table import Table

from lakehouse.declarations import Table as DeclaredTable
from lakehouse.declarations.columns.schemas import iceberg_schema
from lakehouse.iceberg.names import table_name
from lakehouse.proofs.audit.findings import Finding, FindingsDecide
from lakehouse.protocol.seals.history import head_of
from lakehouse.protocol.seals.written_fields import field_ids, written_fields


@dataclass(frozen=True)
class ColumnsProof(FindingsDecide):
    """The proof of one table."""

    table: str
    findings: tuple[Finding, ...] = ()


def audit_columns(table: Table, declared: DeclaredTable) -> ColumnsProof:
    """Compare a table's columns, and the fields within them, with its own older schemas.

    Declared columns that no schema had are not there yet: `lakehouse plan` names those.
    """
    name, wanted = table_name(table), iceberg_schema(declared).column_names
    findings: list[Finding] = []
    if dropped := _dropped(table, wanted):
        message = (
            f"{name} lacks {', '.join(dropped)}: somebody dropped or renamed what is declared. Rename back, or set the "
            "table's current schema to the one before; the files still hold the values."
        )
        findings.append(Finding("columns_differ", message, name))
    if other := _other_fields(table, wanted):
        message = (
            f"{name}: {', '.join(other)} no longer means the field that rows were written to: somebody dropped and "
            "added it, or swapped names. Set the table's current schema to the one before; or adopt, rebuild or "
            "compute the table anew."
        )
        findings.append(Finding("columns_differ", message, name))
    return ColumnsProof(name, tuple(findings))


def _dropped(table: Table, wanted: list[str]) -> list[str]:
    present = set(table.schema().column_names)
    once_there = {field for schema in table.metadata.schemas for field in schema.column_names}
    return _outermost([field for field in wanted if field in once_there and field not in present])


def _other_fields(table: Table, wanted: list[str]) -> list[str]:
    """Names under which the snapshots that rows came with had another field, as far as nothing settled the matter."""
    current, written = field_ids(table.schema()), written_fields(table, head_of(table))
    return _outermost([name for name in wanted if name in current and written.get(name, set()) - {current[name]}])


def _outermost(fields: list[str]) -> list[str]:
    """Of a struct that is concerned its fields are, too: one name says it."""
    return [field for field in fields if not any(field.startswith(f"{other}.") for other in fields)]
