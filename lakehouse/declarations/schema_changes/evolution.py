"""Compares a declared schema with a table's: what can be added or widened, and what would lose data.

Nothing here looks at field ids: the declaration has none, a column is the one of the same name.
"""

from dataclasses import dataclass, field

from pyiceberg import types as iceberg
from pyiceberg.schema import Schema

from lakehouse.declarations.schema_changes.adopted_coordinates import ADOPT, RENAME, is_coordinate
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
    differences = Differences()
    _struct(declared.as_struct(), stored.as_struct(), (), differences)
    return differences


def widens(stored: iceberg.IcebergType, declared: iceberg.IcebergType) -> bool:
    """Say whether `declared` holds every value of `stored`, as Iceberg format 2 allows."""
    match stored, declared:
        case (iceberg.IntegerType(), iceberg.LongType()) | (iceberg.FloatType(), iceberg.DoubleType()):
            return True
        case iceberg.DecimalType(), iceberg.DecimalType():
            return stored.scale == declared.scale and stored.precision < declared.precision
        case _:
            return False


def _struct(declared: iceberg.StructType, stored: iceberg.StructType, parent: Path, differences: Differences) -> None:
    stored_fields = {field.name: field for field in stored.fields}
    folded = {name.casefold(): name for name in stored_fields}
    previous: Path | None = None
    for column in declared.fields:
        path = (*parent, column.name)
        if column.name in stored_fields:
            _field(column, stored_fields.pop(column.name), path, differences)
        elif column.name.casefold() in folded:
            stored_name = folded[column.name.casefold()]
            stored_fields.pop(stored_name, None)
            differences.refuse(
                f"column {dotted(path)} is called {stored_name} in the table", "write it as the table does."
            )
        elif column.required:
            differences.refuse(
                f"column {dotted(path)} is new and required, and rows that are there have no value for it",
                ADOPT if is_coordinate(path) else "declare it nullable=True.",
            )
        else:
            differences.changes.append(AddColumn(path, column.field_type, column.doc, previous))
        previous = path
    for name in stored_fields:
        differences.refuse(
            f"column {dotted((*parent, name))} is in the table and not in the declaration, so its data would be lost",
            "declare it again; if it was renamed, keep the old name, and say how records call it by "
            'metadata={"alias": "…"}; if its data may go, drop it by ALTER TABLE first.',
        )


def _field(declared: iceberg.NestedField, stored: iceberg.NestedField, path: Path, differences: Differences) -> None:
    _required(declared=declared.required, stored=stored.required, path=path, differences=differences)
    if declared.doc and declared.doc != stored.doc:
        differences.changes.append(DocumentColumn(path, declared.doc))
    _type(declared.field_type, stored.field_type, path, differences)


def _required(*, declared: bool, stored: bool, path: Path, differences: Differences) -> None:
    if stored and not declared:
        differences.changes.append(RelaxColumn(path))
    elif declared and not stored:
        differences.refuse(
            f"column {dotted(path)} may be null in the table and is required in the declaration",
            "declare it nullable=True.",
        )


def _type(declared: iceberg.IcebergType, stored: iceberg.IcebergType, path: Path, differences: Differences) -> None:
    match declared, stored:
        case iceberg.StructType(), iceberg.StructType():
            _struct(declared, stored, path, differences)
        case iceberg.ListType(), iceberg.ListType():
            child = (*path, "element")
            _required(
                declared=declared.element_required, stored=stored.element_required, path=child, differences=differences
            )
            _type(declared.element_type, stored.element_type, child, differences)
        case iceberg.MapType(), iceberg.MapType():
            _key(declared, stored, path, differences)
            child = (*path, "value")
            _required(
                declared=declared.value_required, stored=stored.value_required, path=child, differences=differences
            )
            _type(declared.value_type, stored.value_type, child, differences)
        case _ if declared == stored:
            pass
        case _ if widens(stored, declared):
            differences.changes.append(WidenColumn(path, stored, declared))
        case _:
            differences.refuse(
                f"column {dotted(path)} is {shown(stored)} in the table and {shown(declared)} in the declaration, "
                "which cannot hold all its values",
                RENAME if is_coordinate(path) else f"declare {shown(stored)}, or add a column of another name.",
            )


def _key(declared: iceberg.MapType, stored: iceberg.MapType, path: Path, differences: Differences) -> None:
    key_differences = Differences()
    _type(declared.key_type, stored.key_type, (*path, "key"), key_differences)
    # Two keys that differ may become equal when their type changes, so Iceberg lets no key change.
    if key_differences.changes or key_differences.problems:
        differences.refuse(
            f"the key of map {dotted(path)} differs from the table's", "declare the key as the table has it."
        )
