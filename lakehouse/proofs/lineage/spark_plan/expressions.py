"""Which columns an expression of Spark's printed plan is computed from.

A column is printed as `name#12`, and the number is what tells it from others. Texts are printed without quotes, so one
that holds brackets, ` AS ` or `#12` can look like part of an expression. Whatever is not understood beyond doubt gives
no answer rather than a wrong one.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Sources = frozenset[tuple[str, str]]
_ID = re.compile(r"#(\d+)L?(?:-T\d+ms)?")
_ENDS_WITH_ID = re.compile(r"(?P<before>.*)#(?P<id>\d+)L?(?:-T\d+ms)?", re.DOTALL)
_AS = " AS "
_LAMBDA = re.compile(r"\blambda \w+#\d+L?")
_SUBQUERY = re.compile(r"\b(?:scalar-subquery|list)#\d+L? \[[^\]]*\]")
_OPENING, _CLOSING = "([{", ")]}"


@dataclass(frozen=True)
class Attribute:
    """A column of an operator's output.

    Attributes:
        sources: columns of tables, each with its table, that it is computed from; None if nobody can tell.
    """

    name: str
    id: int
    sources: Sources | None


@dataclass(frozen=True)
class Output:
    """The columns that an operator gives.

    Attributes:
        columns: those that are known.
        whole: whether these are all of them, in their order.
    """

    columns: tuple[Attribute, ...] = ()
    whole: bool = False

    def __add__(self, other: "Output") -> "Output":
        """One beside the other."""
        return Output((*self.columns, *other.columns), self.whole and other.whole)


UNKNOWN = Output()


class ExpressionScope:
    """What an expression can refer to: what lies below its operator, and the subqueries that it holds."""

    def __init__(self, child: Output, subqueries: Sequence[Output] = ()) -> None:
        self.by_id = {column.id: column for column in child.columns}
        self.whole = child.whole
        self.subqueries = subqueries


def sources(text: str, scope: ExpressionScope) -> Sources | None:
    """The columns that an expression is computed from; None if that is in doubt."""
    if "outer(" in text:  # a column of the query around this one
        return None
    text = _LAMBDA.sub("", text)
    text, count = _SUBQUERY.subn("", text)
    # Which plan is whose is told for one alone.
    subqueries = scope.subqueries if count else ()
    if count != len(subqueries) or count > 1 or not all(plan.whole for plan in subqueries):
        return None
    column_sources: list[Sources | None] = [column.sources for plan in subqueries for column in plan.columns]
    for mention in _ID.finditer(text):
        prefix = text[: mention.start()]
        column = scope.by_id.get(int(mention[1]))
        if column is not None and _is_name(prefix, column.name):
            # Of a struct that was put together from several columns, a field is one of them.
            is_part = text.startswith(".", mention.end()) and len(column.sources or ()) > 1
            column_sources.append(None if is_part else column.sources)
        elif not (column is None and scope.whole and prefix.endswith(")")):  # the number of a function's own result
            return None
    return together(column_sources)


def together(candidates: Iterable[Sources | None]) -> Sources | None:
    """All of them; None if one is in doubt."""
    source_sets, everything = list(candidates), frozenset[tuple[str, str]]()
    return (
        None
        if None in source_sets
        else everything.union(*(source_set for source_set in source_sets if source_set is not None))
    )


def outputs(text: str, scope: ExpressionScope) -> Output:
    """The columns of a printed list of expressions."""
    items = _items(text)
    return UNKNOWN if items is None else Output(tuple(_column(item, scope) for item in items), whole=True)


def _column(item: str, scope: ExpressionScope) -> Attribute:
    definition, column_id = _numbered(item)
    if _AS not in definition:  # a column of what lies below, handed on
        column = scope.by_id.get(column_id)
        return Attribute(
            definition, column_id, column.sources if column and _is_name(definition, column.name) else None
        )
    expression, _, name = definition.partition(_AS)
    if _AS in name:  # either might be the name
        return Attribute(name.rpartition(_AS)[2], column_id, None)
    return Attribute(name, column_id, sources(expression, scope))


def attributes(text: str, origin: Sources | None = None) -> Output:
    """A printed list of columns, all with the same sources."""
    items = _items(text)
    return (
        UNKNOWN if items is None else Output(tuple(Attribute(*_numbered(item), origin) for item in items), whole=True)
    )


def lists(text: str) -> list[str] | None:
    """The insides of the square brackets of an operator's text, outermost only; None if they do not match."""
    groups: list[str] = []
    depth = start = 0
    for index, character in enumerate(text):
        if character == "[":
            depth += 1
            start = index + 1 if depth == 1 else start
        elif character == "]":
            depth -= 1
            if depth < 0:
                return None
            if depth == 0:
                groups.append(text[start:index])
    return groups if depth == 0 else None


def split(text: str) -> list[str] | None:
    """Take a list apart at its commas, outside of all brackets; None if those do not match."""
    items, depth, start = list[str](), 0, 0
    for index, character in enumerate(text):
        if character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
            if depth < 0:
                return None
        elif depth == 0 and text.startswith(", ", index):
            items.append(text[start:index])
            start = index + 2
    return [*items, text[start:]] if depth == 0 else None


def _items(text: str) -> list[str] | None:
    """Items of a list; each ends with a number, so a piece without one belongs to the next (a text with a comma)."""
    parts = split(text) if text else []
    if parts is None:
        return None
    items, piece = list[str](), ""
    for part in parts:
        piece = f"{piece}, {part}" if piece else part
        if _ENDS_WITH_ID.fullmatch(piece):
            items.append(piece)
            piece = ""
    return None if piece else items


def _numbered(item: str) -> tuple[str, int]:
    """What stands before the number at the end, and the number."""
    ending = _ENDS_WITH_ID.fullmatch(item)
    assert ending is not None
    return ending["before"], int(ending["id"])


def _is_name(text: str, name: str) -> bool:
    """Whether a text ends with a name; Spark prints a column as the query spells it."""
    return text.casefold().endswith(name.casefold())
