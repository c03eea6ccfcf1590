"""Tables that records name themselves: which ones a route may make, and how a value becomes a table's name."""

import dataclasses
import re
from dataclasses import dataclass

from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.declarations.columns.names import table_identifier

PLACE = "{}"
"""Where the value stands in a table's name."""
MOST_TABLES = 1000
"""More tables than that would not change in one publish in good time."""


@dataclass(frozen=True, kw_only=True)
class ToNamed:
    """Each record names its table, and one that is not there yet is made before the record is written.

    What breaks the policy goes to quarantine (`route_refused`): a name that is none, another namespace, a name that
    does not match, one more table than allowed, a table that something else writes.

    Attributes:
        like: a declared table. Those that are made have its columns, partitioning, key, owner and policies.
        namespaces: in which tables may be made.
        field: the text field of a record that names its table.
        header: or the header, by its last value as text. With neither, the record's topic names it.
        table: the table's name, with the value in the place of `{}`, such as `"events.{}"`.
        names: a regular expression for the whole name within its namespace.
        most_tables: so many are made at most.
        made: those that there are; the stream's seals say which, and no declaration.
    """

    like: str
    namespaces: tuple[str, ...]
    field: str = ""
    header: str = ""
    table: str = PLACE
    names: str = "[a-z_][a-z0-9_]*"
    most_tables: int = 100
    made: tuple[str, ...] = dataclasses.field(default=(), compare=False, repr=False)

    @property
    def tables(self) -> tuple[str, ...]:
        """The declared table, and those that were made."""
        return (self.like, *(name for name in self.made if name != self.like))

    @property
    def room(self) -> int:
        """How many more may be made."""
        return max(0, self.most_tables - len(self.made))

    def named(self, value: str) -> str:
        """The name of the table that a value stands for."""
        return self.table.replace(PLACE, value)

    def refusal(self, name: str) -> str:
        """Why no table of this name may be made, without the name; empty where one may."""
        try:
            namespace, table = table_identifier(name)
        except DeclarationError:
            return "makes no name of a table"
        if namespace not in self.namespaces:
            return f"names a table outside {', '.join(self.namespaces)}"
        if not re.fullmatch(self.names, table):
            return "names a table that does not match `names`"
        return ""


def check_named(stream: str, route: ToNamed) -> None:
    """Refuse a route that could make no table, or any.

    Raises:
        DeclarationError: says what, and what to do.
    """
    problem = ""
    if route.field and route.header:
        problem, remedy = "both a field and a header name the table", "give one of them."
    elif PLACE not in route.table:
        problem, remedy = f"{route.table!r} is the same for each value", 'write {} for the value: table="events.{}".'
    elif not route.namespaces or isinstance(route.namespaces, str):
        problem, remedy = "no namespace in which tables may be made", 'write namespaces=("events",).'
    elif not 1 <= route.most_tables <= MOST_TABLES:
        problem, remedy = f"most_tables is {route.most_tables}", f"choose 1 to {MOST_TABLES}."
    else:
        try:
            re.compile(route.names)
            for namespace in route.namespaces:
                table_identifier(f"{namespace}.t")
        except (re.error, TypeError) as error:
            problem, remedy = f"names is no regular expression ({error})", "correct it."
        else:
            return
    raise DeclarationError(f"Stream {stream}: {problem}.", remedy=remedy)
