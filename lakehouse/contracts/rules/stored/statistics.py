"""What manifests say of a column's values, over all files of a scope."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile
from pyiceberg.types import DoubleType, FloatType, NestedField, PrimitiveType

Bound = bool | int | float | str | bytes | object


@dataclass
class ColumnBounds:
    """One column's values.

    Attributes:
        nulls: how many are null; None where a file does not say.
        spans: least and greatest value of a file, as the file holds them → how many values are between; None where a
            file does not say, or where some values have no place in an order.
    """

    kind: NestedField
    nulls: int | None = 0
    spans: dict[tuple[bytes, bytes], int] | None = field(default_factory=dict[tuple[bytes, bytes], int])

    def add(self, file: DataFile) -> None:
        """Count a file's values."""
        field_id = self.kind.field_id
        values, nulls = (file.value_counts or {}).get(field_id), (file.null_value_counts or {}).get(field_id)
        if values is None or nulls is None:
            self.nulls = self.spans = None
            return
        if self.nulls is not None:
            self.nulls += nulls
        if self.spans is None or values == nulls:
            return
        lower, upper = (file.lower_bounds or {}).get(field_id), (file.upper_bounds or {}).get(field_id)
        if lower is None or upper is None or self._may_be_unordered(file):
            self.spans = None
        else:
            self.spans[lower, upper] = self.spans.get((lower, upper), 0) + values - nulls

    def bounds(self) -> Iterable[tuple[Bound, Bound, int]]:
        """The spans in Python's terms: days and microseconds for dates and times. None of them where unknown."""
        kind = self.kind.field_type
        assert isinstance(kind, PrimitiveType)
        for (lower, upper), values in (self.spans or {}).items():
            yield from_bytes(kind, lower), from_bytes(kind, upper), values

    def _may_be_unordered(self, file: DataFile) -> bool:
        """Whether a number may be none: bounds pass over such values, and not every writer counts them."""
        if not isinstance(self.kind.field_type, FloatType | DoubleType):
            return False
        return (file.nan_value_counts or {}).get(self.kind.field_id) != 0


@dataclass(frozen=True)
class ManifestStatistics:
    """What manifests say of some columns, and of how many rows."""

    rows: int
    columns: Mapping[str, ColumnBounds]

    @classmethod
    def of(cls, files: Iterable[DataFile], fields: Mapping[str, NestedField]) -> "ManifestStatistics":
        """Add up files.

        Args:
            files: with what their manifests say of them.
            fields: name → the column as the table has it. Of nested ones nothing is known.
        """
        columns = {name: ColumnBounds(nested_field) for name, nested_field in fields.items()}
        rows = 0
        for file in files:
            rows += file.record_count
            for column in columns.values():
                column.add(file)
        return cls(rows, columns)
