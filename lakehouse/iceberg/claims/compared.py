"""Two entries for one file: do they claim the same of it?

Readers choose files by their partition, their bounds and their counts, and read them by format and size. So a manifest
that lists the same file with another claim hides its rows, or gives a wrong number of them. A claim that is left out
hides nothing: readers then read more.
"""

from collections.abc import Mapping

from pyiceberg.manifest import DataFile

from lakehouse.iceberg.entries import REFERENCED_AT, partition_of

_SINGLE = {
    "content": "content",
    "file_format": "file format",
    "record_count": "row count",
    "file_size_in_bytes": "file size",
}
_BY_COLUMN = {
    "value_counts": "value count",
    "null_value_counts": "null count",
    "nan_value_counts": "NaN count",
    "lower_bounds": "lower bound",
    "upper_bounds": "upper bound",
}
_DELETION_VECTOR = (REFERENCED_AT, REFERENCED_AT + 1, REFERENCED_AT + 2)
Columns = Mapping[int, object]


def differing_claim(before: DataFile, after: DataFile) -> str:
    """The first claim of a file that two entries make otherwise, in words; empty where none is."""
    for attribute, words in _SINGLE.items():
        if getattr(before, attribute) != getattr(after, attribute):
            return f"another {words}"
    if repr(partition_of(before)) != repr(partition_of(after)):  # by their text: NaN is not equal to itself
        return "another partition"
    if list(before.equality_ids or ()) != list(after.equality_ids or ()):
        return "other columns that it deletes by"
    if any(_value(before, index) != _value(after, index) for index in _DELETION_VECTOR):
        return "another data file that it deletes from"
    for attribute, words in _BY_COLUMN.items():
        earlier, later = _columns(before, attribute), _columns(after, attribute)
        if fields := sorted(field for field in earlier.keys() & later.keys() if earlier[field] != later[field]):
            return f"another {words} of field {fields[0]}"
    return "other places to split it at" if _is_split_otherwise(before, after) else ""


def _is_split_otherwise(before: DataFile, after: DataFile) -> bool:
    earlier, later = before.split_offsets, after.split_offsets
    return bool(earlier and later) and list(earlier or ()) != list(later or ())


def adds_claims(before: DataFile, after: DataFile) -> bool:
    """Whether an entry claims what the one before it left open: of a column, or where to split the file."""
    if after.split_offsets and not before.split_offsets:
        return True
    return any(_columns(after, attribute).keys() - _columns(before, attribute).keys() for attribute in _BY_COLUMN)


def _columns(file: DataFile, attribute: str) -> Columns:
    columns: Columns | None = getattr(file, attribute)
    return columns or {}


def _value(file: DataFile, index: int) -> object:
    return file[index] if len(file) > index else None
