"""A stream writes only to tables that are as declared: a column that the table lacks would be dropped in silence."""

from collections.abc import Mapping

from lakehouse.declarations import Declarations
from lakehouse.declarations.schema_changes.changes import AddColumn, RelaxColumn, WidenColumn
from lakehouse.declarations.schema_changes.plan import diff
from lakehouse.errors import LakehouseError
from lakehouse.protocol.seals.base import Base


class NotApplied(LakehouseError):
    """A table is not as its declaration says."""


def require_applied(declarations: Declarations, bases: Mapping[str, Base]) -> None:
    """Compare the declared columns with the tables as they were loaded.

    Raises:
        NotApplied: a column is missing, or narrower than declared.
        WouldLoseData: the table cannot become what is declared.
    """
    differing = {
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
    if differing:
        differences = "; ".join(
            f"{name}: {', '.join(str(change) for change in changes)}" for name, changes in differing.items()
        )
        raise NotApplied(f"Tables differ from their declarations ({differences}).", remedy="run `lakehouse apply`")
