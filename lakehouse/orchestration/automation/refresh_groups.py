"""Which derived tables are asked for together, and what has to be new for that.

Tables that share inputs are computed in one run, or they would not agree. A run has partitions of one kind, so where
tables of a component differ in that, each kind is a group of its own, and what is computed from another group's table
waits for that group's run.
"""

from dataclasses import dataclass
from functools import cached_property

from lakehouse.declarations import Declarations, Derived
from lakehouse.steps.derived.inputs.component import component_of


@dataclass(frozen=True)
class Group:
    """Derived tables that are asked for together.

    Attributes:
        tables: each after its inputs.
        declarations: all that is declared.
    """

    tables: tuple[str, ...]
    declarations: Declarations

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Tables that the group is computed from and does not compute."""
        given = (name for table in self.tables for name in self.declarations.derived[table].inputs.values())
        return tuple(dict.fromkeys(name for name in given if name not in self.tables))

    def upstream(self, table: str) -> tuple[str, ...]:
        """Everything that one of the tables is computed from, however far up, and that the group does not compute."""
        return tuple(name for name in upstream_tables(table, self.declarations) if name not in self.tables)


def group_of(declared: Derived, declarations: Declarations) -> Group:
    """The group that a derived table belongs to."""
    derived = declarations.derived
    own = (declared.partitions, _changes(declared.name, declarations))
    alike = (
        name
        for name in component_of(declared.name, derived)
        if (derived[name].partitions, _changes(name, declarations)) == own
    )
    return Group(tuple(alike), declarations)


def upstream_tables(table: str, declarations: Declarations) -> tuple[str, ...]:
    """Everything that a table is computed from, however far up; nothing for one that is not derived."""
    upstream: dict[str, None] = {}
    waiting = [table]
    while waiting:
        derived = declarations.derived.get(waiting.pop())
        new = [name for name in derived.inputs.values() if name not in upstream] if derived else []
        upstream |= dict.fromkeys(new)
        waiting += new
    return tuple(upstream)


def _changes(table: str, declarations: Declarations) -> int:
    """How often the kind of partitions changes on the longest way to a table.

    Without it, a table before and one after a partitioned one would be of one group, which would then wait for itself.
    """
    derived = declarations.derived[table]
    inputs = (declarations.derived[name] for name in derived.inputs.values() if name in declarations.derived)
    return max((_changes(i.name, declarations) + (i.partitions != derived.partitions) for i in inputs), default=0)
