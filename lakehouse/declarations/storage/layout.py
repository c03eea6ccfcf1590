"""How rows are laid out in files: partitioning and sort order, written as short texts."""

import re
from dataclasses import dataclass
from typing import Any, Protocol

from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER, NullOrder, SortDirection, SortField, SortOrder
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TimeTransform,
    Transform,
    TruncateTransform,
    YearTransform,
)

from lakehouse.declarations.columns.column import HasColumns
from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.declarations.columns.schemas import iceberg_schema

_TERM = re.compile(r"(?:(?P<transform>\w+)\s*\(\s*(?:(?P<width>\d+)\s*,\s*)?(?P<source>\w+)\s*\)|(?P<column>\w+))")
_ORDER = re.compile(r"(?P<term>.+?)(?:\s+(?P<direction>asc|desc))?(?:\s+nulls\s+(?P<nulls>first|last))?", re.IGNORECASE)
# Iceberg keeps a number of buckets, and a width, in 32 bits.
_WIDEST = 2**31 - 1
_PLAIN: dict[str, Transform[Any, Any]] = {
    "identity": IdentityTransform(),
    "year": YearTransform(),
    "month": MonthTransform(),
    "day": DayTransform(),
    "hour": HourTransform(),
}


@dataclass(frozen=True)
class Term:
    """A column, as it is or transformed: `month(time_hour)`."""

    source: str
    transform: Transform[Any, Any]

    def __str__(self) -> str:
        return self.source if isinstance(self.transform, IdentityTransform) else self.field_name

    @property
    def field_name(self) -> str:
        """The partition field's name. It tells the width, so that another width is another field."""
        match self.transform:
            case IdentityTransform():
                return self.source
            case BucketTransform():
                return f"{self.source}_bucket_{self.transform.num_buckets}"
            case TruncateTransform():
                return f"{self.source}_trunc_{self.transform.width}"
            case _:
                return f"{self.source}_{self.transform}"


@dataclass(frozen=True)
class SortTerm:
    """A term with its direction."""

    term: Term
    direction: SortDirection
    nulls: NullOrder

    def __str__(self) -> str:
        return f"{self.term} {self.direction} {self.nulls}".lower()


class HasLayout(HasColumns, Protocol):
    """What the functions below need of a table."""

    @property
    def partitioning(self) -> tuple[str, ...]:
        """Texts such as `month(time_hour)`, `bucket(16, id)` or `origin`."""
        ...

    @property
    def sort_order(self) -> tuple[str, ...]:
        """Texts such as `time_hour desc nulls last`."""
        ...


def partition_terms(table: HasLayout) -> tuple[Term, ...]:
    """Read the partitioning.

    Raises:
        DeclarationError: a text cannot be read, or does not fit the columns.
    """
    if not table.partitioning:
        return ()
    schema = iceberg_schema(table)
    terms = tuple(_term(table, text, schema, "partitioning") for text in table.partitioning)
    columns = {column.name.casefold() for column in table.columns}
    # A day lies in one month and one year, so two time transforms of one column are one too many.
    divisions = [
        (term.source, "time" if isinstance(term.transform, TimeTransform) else term.field_name) for term in terms
    ]
    for term, division in zip(terms, divisions, strict=True):
        if divisions.count(division) > 1:
            raise DeclarationError(
                f"{table.name}, partitioning: '{term.source}' is divided twice in the same way.",
                remedy="keep one of them.",
            )
        if term.field_name != term.source and term.field_name.casefold() in columns:
            raise DeclarationError(
                f"{table.name}, partitioning: the partition {term.field_name} has the name of a column.",
                remedy="rename the column.",
            )
    return terms


def partition_spec(table: HasLayout) -> PartitionSpec:
    """Return the partitioning for a new table, in the field ids of `iceberg_schema`."""
    schema = iceberg_schema(table)
    return PartitionSpec(
        *(
            PartitionField(
                source_id=schema.find_field(term.source).field_id,
                field_id=PARTITION_FIELD_ID_START + position,
                transform=term.transform,
                name=term.field_name,
            )
            for position, term in enumerate(partition_terms(table))
        )
    )


def sort_terms(table: HasLayout) -> tuple[SortTerm, ...]:
    """Read the sort order; ascending with nulls first unless it says otherwise, as in Spark.

    Raises:
        DeclarationError: a text cannot be read, or does not fit the columns.
    """
    if not table.sort_order:
        return ()
    schema = iceberg_schema(table)
    terms: list[SortTerm] = []
    for text in table.sort_order:
        match = _ORDER.fullmatch(text.strip())
        if match is None:
            raise _unreadable(table, text, "sort order")
        descending = (match["direction"] or "asc").lower() == "desc"
        nulls = (match["nulls"] or ("last" if descending else "first")).lower()
        terms.append(
            SortTerm(
                _term(table, match["term"], schema, "sort order"),
                SortDirection.DESC if descending else SortDirection.ASC,
                NullOrder.NULLS_LAST if nulls == "last" else NullOrder.NULLS_FIRST,
            )
        )
    return tuple(terms)


def sort_order(table: HasLayout) -> SortOrder:
    """Return the sort order for a new table, in the field ids of `iceberg_schema`."""
    terms = sort_terms(table)
    if not terms:
        return UNSORTED_SORT_ORDER
    schema = iceberg_schema(table)
    return SortOrder(
        *(
            SortField(
                source_id=schema.find_field(term.term.source).field_id,
                transform=term.term.transform,
                direction=term.direction,
                null_order=term.nulls,
            )
            for term in terms
        )
    )


def _term(table: HasLayout, text: str, schema: Schema, clause: str) -> Term:
    match = _TERM.fullmatch(text.strip())
    if match is None:
        raise _unreadable(table, text, clause)
    source = match["source"] or match["column"]
    field = next((field for field in schema.fields if field.name == source), None)
    if field is None:
        raise DeclarationError(
            f"{table.name}, {clause}: there is no column '{source}'.",
            remedy=f"use one of {', '.join(column.name for column in table.columns)}.",
        )
    if (width := match["width"]) and (len(width) > len(str(_WIDEST)) or int(width) > _WIDEST):
        raise DeclarationError(
            f"{table.name}, {clause}: the number of {match['transform']} for '{source}' is too large.",
            remedy=f"use at most {_WIDEST}.",
        )
    transform = _transform(match["transform"] or "identity", match["width"])
    if transform is None:
        raise _unreadable(table, text, clause)
    if not transform.can_transform(field.field_type):
        raise DeclarationError(
            f"{table.name}, {clause}: {text} does not work on {source}, a {field.field_type}.",
            remedy="choose another transform or column.",
        )
    return Term(source, transform)


def _transform(name: str, width: str | None) -> Transform[Any, Any] | None:
    if name in _PLAIN:
        return None if width else _PLAIN[name]
    if width is None or int(width) == 0:
        return None
    match name:
        case "bucket":
            return BucketTransform(int(width))
        case "truncate":
            return TruncateTransform(int(width))
        case _:
            return None


def _unreadable(table: HasLayout, text: str, clause: str) -> DeclarationError:
    return DeclarationError(
        f"{table.name}, {clause}: '{text}' cannot be understood.",
        remedy="write a column, or identity, year, month, day or hour (column), bucket(16, column), truncate(4, column)"
        + ("; after it asc or desc, nulls first or nulls last." if clause == "sort order" else "."),
    )
