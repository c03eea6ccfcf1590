"""Where the records of a stream go: to one table, to several, or to those that a field, header or topic chooses."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.declarations.named_tables import ToNamed, check_named

Targets = str | tuple[str, ...]
"""A table, or several of which each gets the record."""
Choices = Mapping[str | re.Pattern[str], Targets]
"""A value, or a regular expression for whole values → tables. Values come first, then expressions in order."""


@dataclass(frozen=True)
class ToTable:
    """Every record goes to one table."""

    table: str

    @property
    def tables(self) -> tuple[str, ...]:
        """The one table."""
        return (self.table,)


@dataclass(frozen=True)
class ToAll:
    """Every record goes to each of several tables: to all of them, or, if one cannot take it, to quarantine."""

    tables: tuple[str, ...]

    def __init__(self, *tables: str) -> None:
        """Takes the tables: `ToAll("raw.orders", "raw.order_audit")`."""
        object.__setattr__(self, "tables", tables)


@dataclass(frozen=True)
class ByField:
    """A text field of the record decides: its value names the table; any other value goes to quarantine.

    Attributes:
        field: the record's field; the tables need not carry it.
        routes: value → table, or tables. Several values may name one table. A compiled regular expression stands for
            all whole values that match it.
    """

    field: str
    routes: Choices

    @property
    def tables(self) -> tuple[str, ...]:
        """All tables in order, each once."""
        return tables_of(self.routes)

    @property
    def exact(self) -> dict[str, str] | None:
        """Value → table, where no expression and no value with several tables is among them."""
        exact = {value: table for value, table in self.routes.items() if isinstance(value, str)}
        plain = {value: table for value, table in exact.items() if isinstance(table, str)}
        return plain if len(plain) == len(self.routes) else None


@dataclass(frozen=True)
class ByHeader:
    """A header of the record decides, by its last value as text; a record without it goes to quarantine.

    Attributes:
        header: its key.
        routes: as of `ByField`.
    """

    header: str
    routes: Choices

    @property
    def tables(self) -> tuple[str, ...]:
        """All tables in order, each once."""
        return tables_of(self.routes)


@dataclass(frozen=True)
class ByTopic:
    """The topic that a record is of decides, in a stream of several.

    Attributes:
        routes: as of `ByField`, with topics in the place of values.
    """

    routes: Choices

    @property
    def tables(self) -> tuple[str, ...]:
        """All tables in order, each once."""
        return tables_of(self.routes)


@dataclass(frozen=True)
class BySource:
    """The source table that a change names decides; `None` takes changes of any source. For streams of changes.

    Attributes:
        routes: source table (`schema.table`) → changelog.
    """

    routes: Mapping[str | None, str]

    @property
    def tables(self) -> tuple[str, ...]:
        """All changelogs in order."""
        return tuple(self.routes.values())


Route = ToTable | ToAll | ByField | ByHeader | ByTopic | BySource | ToNamed


def targets_of(targets: Targets) -> tuple[str, ...]:
    """One table or several, as several."""
    return (targets,) if isinstance(targets, str) else targets


def tables_of(routes: Choices) -> tuple[str, ...]:
    """All tables of some choices in order, each once."""
    return tuple(dict.fromkeys(table for targets in routes.values() for table in targets_of(targets)))


def several_tables(route: Route) -> bool:
    """Whether a record may go to more than one table."""
    if isinstance(route, ToTable | BySource | ToNamed):
        return False
    return isinstance(route, ToAll) or any(len(targets_of(targets)) > 1 for targets in route.routes.values())


def route_text(route: Route) -> str:
    """A route as text that is the same in every process: a compiled expression as `/…/` and its flags."""
    if isinstance(route, ToTable | ToAll | BySource | ToNamed):
        return repr(route)
    name = route.field if isinstance(route, ByField) else route.header if isinstance(route, ByHeader) else ""
    if isinstance(route, ByField) and route.exact is not None:
        return repr(route)
    choices = [(v if isinstance(v, str) else _expression(v), t) for v, t in route.routes.items()]
    return repr((type(route).__name__, name, choices))


def _expression(pattern: re.Pattern[str]) -> str:
    return f"/{pattern.pattern}/{pattern.flags - re.UNICODE or ''}"


def check_route(stream: str, route: Route) -> None:
    """Refuse a route that chooses nothing, or a table twice for one record.

    Raises:
        DeclarationError: says what, and what to do.
    """
    if isinstance(route, ToAll):
        _check_targets(stream, route.tables, least=2)
        return
    if isinstance(route, ToTable | BySource):
        return
    if isinstance(route, ToNamed):
        check_named(stream, route)
        return
    kind = type(route).__name__
    chooses = route.field if isinstance(route, ByField) else route.header if isinstance(route, ByHeader) else "topic"
    if not (chooses and route.routes):
        what = {"ByField": "a route by field without field or values", "ByHeader": "a route by header without header"}
        raise DeclarationError(
            f"Stream {stream}: {what.get(kind, 'a route by topic without topics')}.", remedy="give both."
        )
    for value, targets in route.routes.items():
        if not isinstance(value, str | re.Pattern) or (
            isinstance(value, re.Pattern) and isinstance(value.pattern, bytes)
        ):
            raise DeclarationError(
                f"Stream {stream}: {value!r} chooses no table.", remedy='write a text, or re.compile("…").'
            )
        _check_targets(stream, targets_of(targets), least=1)


def _check_targets(stream: str, tables: tuple[str, ...], *, least: int) -> None:
    if len(tables) < least or len({*tables}) < len(tables):
        raise DeclarationError(
            f"Stream {stream}: a record would go to {tables!r}.",
            remedy=f"name at least {least} table{'s' if least > 1 else ''}, each once.",
        )
