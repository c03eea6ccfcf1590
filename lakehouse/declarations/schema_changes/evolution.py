"""Compares a declared schema with a table's: what can be added or widened, and what would lose data.

Nothing here looks at field ids: the declaration has none, a column is the one of the same name.
"""

from dataclasses import dataclass, field

from pyiceberg import types as iceberg
from pyiceberg.schema import Schema

from lakehouse.declarations.schema_changes.changes import (
    AddColumn,
    ColumnChange,
    DocumentColumn,
    Path,
    RelaxColumn,
    WidenColumn,
    dotted,
    shown,
)


@dataclass(frozen=True)
class Problem:
    """A difference that cannot be made without losing data or breaking what is written, and what to do instead."""

    message: str
    remedy: str


@dataclass
class Differences:
    """What the comparison found."""

    changes: list[ColumnChange] = field(default_factory=list[ColumnChange])
    problems: list[Problem] = field(default_factory=list[Problem])

    def refuse(self, message: str, remedy: str) -> None:
        """Note a problem."""
        self.problems.append(Problem(message, remedy))


def compare(declared: Schema, stored: Schema) -> Differences:
    """Compare all columns."""
    found = Differences()
    _struct(declared.as_struct(), stored.as_struct(), (), found)
    return found


def widens(before: iceberg.IcebergType, after: iceberg.IcebergType) -> bool:
    """Say whether `after` holds every value of `before`, as Iceberg format 2 allows."""
    match before, after:
        case (iceberg.IntegerType(), iceberg.LongType()) | (iceberg.FloatType(), iceberg.DoubleType()):
            return True
        case iceberg.DecimalType(), iceberg.DecimalType():
            return before.scale == after.scale and before.precision < after.precision
        case _:
            return False


def _struct(declared: iceberg.StructType, stored: iceberg.StructType, at: Path, found: Differences) -> None:
    there = {field.name: field for field in stored.fields}
    folded = {name.casefold(): name for name in there}
    previous: Path | None = None
    for wanted in declared.fields:
        path = (*at, wanted.name)
        if wanted.name in there:
            _field(wanted, there.pop(wanted.name), path, found)
        elif wanted.name.casefold() in folded:
            other = folded[wanted.name.casefold()]
            there.pop(other, None)
            found.refuse(f"column {dotted(path)} is called {other} in the table", "write it as the table does.")
        elif wanted.required:
            found.refuse(
                f"column {dotted(path)} is new and required, and rows that are there have no value for it",
                "declare it nullable=True.",
            )
        else:
            found.changes.append(AddColumn(path, wanted.field_type, wanted.doc, previous))
        previous = path
    for name in there:
        found.refuse(
            f"column {dotted((*at, name))} is in the table and not in the declaration, so its data would be lost",
            "declare it again; if it was renamed, keep the old name; if its data may go, drop it by ALTER TABLE first.",
        )


def _field(declared: iceberg.NestedField, stored: iceberg.NestedField, path: Path, found: Differences) -> None:
    _required(now=declared.required, before=stored.required, path=path, found=found)
    if declared.doc and declared.doc != stored.doc:
        found.changes.append(DocumentColumn(path, declared.doc))
    _type(declared.field_type, stored.field_type, path, found)


def _required(*, now: bool, before: bool, path: Path, found: Differences) -> None:
    if before and not now:
        found.changes.append(RelaxColumn(path))
    elif now and not before:
        found.refuse(
            f"column {dotted(path)} may be null in the table and is required in the declaration",
            "declare it nullable=True.",
        )


def _type(declared: iceberg.IcebergType, stored: iceberg.IcebergType, path: Path, found: Differences) -> None:
    match declared, stored:
        case iceberg.StructType(), iceberg.StructType():
            _struct(declared, stored, path, found)
        case iceberg.ListType(), iceberg.ListType():
            below = (*path, "element")
            _required(now=declared.element_required, before=stored.element_required, path=below, found=found)
            _type(declared.element_type, stored.element_type, below, found)
        case iceberg.MapType(), iceberg.MapType():
            _key(declared, stored, path, found)
            below = (*path, "value")
            _required(now=declared.value_required, before=stored.value_required, path=below, found=found)
            _type(declared.value_type, stored.value_type, below, found)
        case _ if declared == stored:
            pass
        case _ if widens(stored, declared):
            found.changes.append(WidenColumn(path, stored, declared))
        case _:
            found.refuse(
                f"column {dotted(path)} is {shown(stored)} in the table and {shown(declared)} in the declaration, "
                "which cannot hold all its values",
                f"declare {shown(stored)}, or add a column of another name.",
            )


def _key(declared: iceberg.MapType, stored: iceberg.MapType, path: Path, found: Differences) -> None:
    within = Differences()
    _type(declared.key_type, stored.key_type, (*path, "key"), within)
    # Two keys that differ may become equal when their type changes, so Iceberg lets no key change.
    if within.changes or within.problems:
        found.refuse(f"the key of map {dotted(path)} differs from the table's", "declare the key as the table has it.")
