"""A file that cannot be read: which of which table it is, and what is wrong with it."""

from dataclasses import dataclass
from typing import Literal

from lakehouse.protocol.errors import MetadataFileDamaged

DamageKind = Literal[
    "missing_file", "unreadable_file", "changed_file", "misdescribed_file", "equality_delete", "unread_format"
]


@dataclass(frozen=True)
class Damage:
    """A file that cannot be read, or that readers leave out.

    Args:
        kind: `missing_file` and `unreadable_file` mean that rows are lost; `changed_file` that it is not what was
            written; `misdescribed_file` that a manifest claims what is not true of it, so that readers may leave out
            rows; an `equality_delete`, or a file of an `unread_format`, is sound, and needs another reader.
    """

    kind: DamageKind
    table: str
    path: str
    message: str

    @property
    def lost(self) -> bool:
        """Whether what the file held is lost to readers."""
        return self.kind not in ("equality_delete", "unread_format")


def damaged_metadata(error: MetadataFileDamaged) -> Damage:
    """The file that kept a table from being loaded."""
    return Damage("missing_file" if error.gone else "unreadable_file", error.table, error.path, str(error))


def first_line(error: Exception) -> str:
    """The kind of an error and how its message begins: the rest may be as long as a file."""
    text = str(error).partition("\n")[0].rstrip(".")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
