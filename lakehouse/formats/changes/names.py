"""Names of source tables: how they are put together, and which of them a changelog takes."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from lakehouse.formats.changes.facts import Bools, ChangeTable, bools
from lakehouse.formats.verdict import RecordError

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers


class Names:
    """The source tables of a changelog."""

    error = RecordError("unknown_source", "no changelog of this stream is for the source table that the message names")

    def __init__(self, table: ChangeTable) -> None:
        self._any = None in table.sources
        self._names = table.sources
        self._sources = pa.array(sorted(name for name in table.sources if name is not None), pa.string())

    def takes(self, name: str | None) -> bool:
        """Whether changes of this table are ours."""
        return self._any or name in self._names

    def taken(self, names: pa.StringArray) -> Bools:
        """The same for many."""
        if self._any:
            return np.ones(len(names), np.bool_)
        if len(self._sources) == 1:
            return bools(pc.equal(names, self._sources[0]))
        return bools(pc.is_in(names, value_set=self._sources))


def joined(schemas: pa.StringArray, tables: pa.StringArray) -> pa.StringArray:
    """`schema.table` for each; none where either is missing. Nearly always all are the same."""
    if len(tables) and not (schemas.null_count or tables.null_count):
        schema, table = schemas[0], tables[0]
        if pc.all(pc.equal(schemas, schema)).as_py() and pc.all(pc.equal(tables, table)).as_py():
            return pa.repeat(f"{schema}.{table}", len(tables))
    return pc.binary_join_element_wise(schemas, tables, ".")
