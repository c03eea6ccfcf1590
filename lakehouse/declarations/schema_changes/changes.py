"""What a plan can consist of. Every change keeps all data readable."""

import re
from dataclasses import dataclass

from pyiceberg.types import IcebergType

from lakehouse.declarations.storage.layout import SortTerm, Term

Path = tuple[str, ...]


def dotted(path: Path) -> str:
    """Write a path to a column as people do."""
    return ".".join(path)


def shown(kind: IcebergType) -> str:
    """Write a type without field ids, which a declaration does not have."""
    return re.sub(r"\b\d+: ", "", str(kind))


@dataclass(frozen=True)
class CreateTable:
    """The table does not exist yet."""

    columns: int

    def __str__(self) -> str:
        return f"create with {self.columns} columns"


@dataclass(frozen=True)
class AddColumn:
    """A new optional column, or field of a struct; rows written before have null there."""

    path: Path
    type: IcebergType
    doc: str | None
    after: Path | None

    def __str__(self) -> str:
        return f"add column {dotted(self.path)} {shown(self.type)}"


@dataclass(frozen=True)
class WidenColumn:
    """A type that holds every value of the old one."""

    path: Path
    before: IcebergType
    after: IcebergType

    def __str__(self) -> str:
        return f"widen column {dotted(self.path)} from {self.before} to {self.after}"


@dataclass(frozen=True)
class RelaxColumn:
    """A required column becomes optional."""

    path: Path

    def __str__(self) -> str:
        return f"allow nulls in column {dotted(self.path)}"


@dataclass(frozen=True)
class DocumentColumn:
    """The documentation of a column."""

    path: Path
    doc: str

    def __str__(self) -> str:
        return f"describe column {dotted(self.path)}: {self.doc}"


@dataclass(frozen=True)
class Repartition:
    """Another partitioning for files written from now on; those that are there stay as they are."""

    remove: tuple[str, ...]
    add: tuple[Term, ...]

    def __str__(self) -> str:
        parts = [f"without {name}" for name in self.remove] + [f"with {term.field_name}" for term in self.add]
        return f"partition new files {', '.join(parts)}"


@dataclass(frozen=True)
class Resort:
    """Another sort order for files written from now on."""

    terms: tuple[SortTerm, ...]

    def __str__(self) -> str:
        return f"sort new files by {', '.join(map(str, self.terms)) or 'nothing'}"


@dataclass(frozen=True)
class SetProperty:
    """A table property."""

    key: str
    before: str | None
    after: str

    def __str__(self) -> str:
        return f"set {self.key} to {self.after!r}" + (f" (was {self.before!r})" if self.before is not None else "")


@dataclass(frozen=True)
class UnsetProperty:
    """A table property of an earlier declaration."""

    key: str
    before: str

    def __str__(self) -> str:
        return f"unset {self.key} (was {self.before!r})"


@dataclass(frozen=True)
class IdentifyRows:
    """The identifier fields: which columns name a row, for every engine."""

    before: tuple[str, ...]
    after: tuple[str, ...]

    def __str__(self) -> str:
        return f"identify rows by {', '.join(self.after) or 'nothing'} (was {', '.join(self.before) or 'nothing'})"


@dataclass(frozen=True)
class UpgradeFormat:
    """Iceberg format 1 becomes 2, which branches and row deletes need."""

    def __str__(self) -> str:
        return "upgrade to Iceberg format 2"


ColumnChange = AddColumn | WidenColumn | RelaxColumn | DocumentColumn
Change = CreateTable | ColumnChange | IdentifyRows | Repartition | Resort | SetProperty | UnsetProperty | UpgradeFormat
