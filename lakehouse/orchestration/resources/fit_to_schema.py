"""Makes Arrow and pandas data exactly what a table holds, or says column by column why they are not."""

from typing import TYPE_CHECKING

import pyarrow as pa

from lakehouse.declarations.columns.error import DoesNotFit

if TYPE_CHECKING:
    import pandas as pd


def fitted(name: str, data: "pa.Table | pd.DataFrame", schema: pa.Schema) -> pa.Table:
    """The data with the table's columns, in its order and types; no value is changed, only represented differently.

    Raises:
        DoesNotFit: names every column that is missing, unknown, null where it must not be, or of another type.
    """
    table = data if isinstance(data, pa.Table) else pa.Table.from_pandas(data, preserve_index=False)
    problems = [f"column '{column}' is unknown" for column in table.column_names if column not in schema.names]
    columns: list[pa.ChunkedArray] = []
    for field in schema:
        column = _column(table, field)
        if isinstance(column, str):
            problems.append(column)
        else:
            columns.append(column)
    if problems:
        raise DoesNotFit(
            f"The data do not fit table {name}: {'; '.join(problems)}.",
            remedy="correct the data, or the table's declaration and `lakehouse apply` it.",
        )
    return pa.table(columns, schema=schema)


def _column(table: pa.Table, field: pa.Field) -> pa.ChunkedArray | str:
    """The column as the field wants it, or what is wrong with it."""
    if field.name not in table.column_names:
        if field.nullable:
            return pa.chunked_array([pa.nulls(table.num_rows, field.type)])
        return f"column '{field.name}' is missing"
    column = table[field.name]
    if column.null_count and not field.nullable:
        return f"column '{field.name}' holds {column.null_count} nulls"
    try:
        return column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        # Arrow's own words would repeat a value, which may be sensitive.
        return f"column '{field.name}' is {column.type}, not {field.type}"
