"""A stream writes only to tables that are as declared: a column that the table lacks would be dropped in silence."""

from collections.abc import Mapping

from lakehouse.commit import Base
from lakehouse.errors import LakehouseError
from lakehouse.tables import Declarations
from lakehouse.tables.changes import AddColumn, RelaxColumn, WidenColumn
from lakehouse.tables.planning import diff


class NotApplied(LakehouseError):
    """A table is not as its declaration says."""


def require_applied(declarations: Declarations, bases: Mapping[str, Base]) -> None:
    """Compare the declared columns with the tables as they were loaded.

    Raises:
        NotApplied: a column is missing, or narrower than declared.
        WouldLoseData: the table cannot become what is declared.
    """
    behind = {
        name: changes
        for name, base in bases.items()
        if (
            changes := [
                change
                for change in diff(declarations.tables[name], base.table).changes
                if isinstance(change, AddColumn | WidenColumn | RelaxColumn)
            ]
        )
    }
    if behind:
        told = "; ".join(f"{name}: {', '.join(str(change) for change in changes)}" for name, changes in behind.items())
        raise NotApplied(f"Tables differ from their declarations ({told}).", remedy="run `lakehouse apply`")
