"""Claims of files that somebody has changed."""

from copy import copy
from typing import Any

from pyiceberg.manifest import DATA_FILE_TYPE, DataFile

_NAMES = [field.name for field in DATA_FILE_TYPE[3].fields]


def set_claim(file: DataFile, attribute: str, value: Any) -> None:
    """Let a file's entry claim something else."""
    file[_NAMES.index(attribute)] = value


def set_column_claim(file: DataFile, attribute: str, field_id: int, value: Any) -> None:
    """Let a file's entry claim something else of a column."""
    set_claim(file, attribute, {**(getattr(file, attribute) or {}), field_id: value})


def with_claim(file: DataFile, attribute: str, field_id: int, value: Any) -> DataFile:
    """A copy of an entry's file that claims something else of a column."""
    other = copy(file)
    other._data = list(file._data)
    other.spec_id = file.spec_id
    set_column_claim(other, attribute, field_id, value)
    return other
