"""Narrow: which part of a mirror a batch of keys can touch, by its partitions and by the bounds of its files.

Metadata only, and pure but for reading manifests. Values are as Iceberg stores them: dates in days, timestamps in
microseconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform, IdentityTransform

from lakehouse.iceberg.entries import referenced_path
from lakehouse.iceberg.spark_literals import ORDERED

Bounds = tuple[Any, Any]
Part = tuple[str, str]
"""Column and transform, such as `("id", "bucket[16]")`."""


@dataclass(frozen=True)
class Touched:
    """Where the keys of a batch lie.

    Args:
        bounds: key column → least and greatest value; columns whose values have no order that all agree on are absent.
        parts: part of the partitioning → its values.
        nulls: key columns in which some key is null: nothing is told of these.
    """

    bounds: Mapping[str, Bounds] = field(default_factory=dict[str, Bounds])
    parts: Mapping[Part, frozenset[Any]] = field(default_factory=dict[Part, frozenset[Any]])
    nulls: frozenset[str] = frozenset()


@dataclass(frozen=True)
class FileFacts:
    """What a manifest says of a data file.

    Args:
        rows: in the file.
        deleted: of these, by delete files.
        bytes: its size.
        bounds: key column → least and greatest value, where they are kept.
        parts: part of its partitioning → value.
    """

    rows: int
    bytes: int
    deleted: int = 0
    bounds: Mapping[str, Bounds] = field(default_factory=dict[str, Bounds])
    parts: Mapping[Part, Any] = field(default_factory=dict[Part, Any])

    def may_hold(self, touched: Touched) -> bool:
        """Whether the file may hold one of the keys."""
        for column, (low, high) in touched.bounds.items():
            if column in self.bounds and column not in touched.nulls:
                least, greatest = self.bounds[column]
                if high < least or low > greatest:
                    return False
        return all(
            self.parts[part] in values
            for part, values in touched.parts.items()
            if part in self.parts and part[0] not in touched.nulls
        )


@dataclass(frozen=True)
class Holding:
    """A table's files at one snapshot.

    Args:
        files: all of them.
        exact: whether the number of deleted rows is known: every delete file names positions in one data file.
    """

    files: Sequence[FileFacts]
    exact: bool = True

    @property
    def rows(self) -> int:
        """Rows that a reader finds."""
        return sum(file.rows - file.deleted for file in self.files)


def holding(table: Table, snapshot_id: int | None, key: Sequence[str]) -> Holding:
    """Look at a table's manifests; no data file is opened."""
    if snapshot_id is None:
        return Holding(())
    files, exact = list[FileFacts](), True
    for task in table.scan(snapshot_id=snapshot_id).plan_files():
        deleted = 0
        for delete in task.delete_files:
            deleted += delete.record_count
            exact = exact and referenced_path(delete) is not None
        files.append(
            FileFacts(
                rows=task.file.record_count,
                bytes=task.file.file_size_in_bytes,
                deleted=min(deleted, task.file.record_count),
                bounds=_bounds(table, task.file, key),
                parts=_parts(table, task.file, key),
            )
        )
    return Holding(files, exact)


def _bounds(table: Table, file: DataFile, key: Sequence[str]) -> dict[str, Bounds]:
    bounds: dict[str, Bounds] = {}
    for name in key:
        column = table.schema().find_field(name)
        lower, upper = (file.lower_bounds or {}).get(column.field_id), (file.upper_bounds or {}).get(column.field_id)
        if lower is not None and upper is not None and isinstance(column.field_type, ORDERED):
            bounds[name] = from_bytes(column.field_type, lower), from_bytes(column.field_type, upper)
    return bounds


def _parts(table: Table, file: DataFile, key: Sequence[str]) -> dict[Part, Any]:
    spec = table.specs()[file.spec_id]
    return {
        (column, str(spec_field.transform)): file.partition[index]
        for index, spec_field in enumerate(spec.fields)
        if (column := table.schema().find_column_name(spec_field.source_id) or "") in key
        and isinstance(spec_field.transform, BucketTransform | IdentityTransform)
    }
