"""What becomes of a declaration that does not load, and of all that needs what it declares."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from lakehouse.declarations.columns.error import DeclarationError


@dataclass(frozen=True)
class BrokenDeclaration:
    """A file that raised, or declarations of it that contradict others.

    Attributes:
        file: where they are.
        line: of the error; None where it is about declarations together.
        message: what is wrong; it begins with the file.
        remedy: what to do.
        tables: names of the tables that are left out by it, as far as they are known.
    """

    file: Path
    line: int | None
    message: str
    remedy: str
    tables: tuple[str, ...] = ()

    def __str__(self) -> str:
        """In one line, with the remedy."""
        return f"{self.message} Remedy: {self.remedy}"

    @property
    def error(self) -> DeclarationError:
        """The same, to be raised."""
        return DeclarationError(self.message, remedy=self.remedy)


@dataclass(frozen=True)
class Culprits:
    """The declarations at fault, by name.

    Attributes:
        tables: of tables, changelogs, mirrors and derived tables.
        streams: of streams.
        releases: of releases.
    """

    tables: frozenset[str] = frozenset()
    streams: frozenset[str] = frozenset()
    releases: frozenset[str] = frozenset()


class FileBroken(DeclarationError):
    """A declaration file raised an error."""

    def __init__(self, message: str, *, remedy: str, file: Path, line: int | None) -> None:
        super().__init__(message, remedy=remedy)
        self.file = file
        self.line = line


class Contradiction(DeclarationError):
    """Declarations that cannot work together."""

    def __init__(
        self,
        message: str,
        *,
        remedy: str,
        tables: Collection[str] = (),
        streams: Collection[str] = (),
        releases: Collection[str] = (),
        missing: str = "",
    ) -> None:
        """Name the declarations at fault.

        Args:
            message: what is wrong.
            remedy: what to do.
            tables: names of tables, changelogs, mirrors and derived tables.
            streams: names of streams.
            releases: names of releases.
            missing: the table that they need and that nobody declares, if that is it.
        """
        super().__init__(message, remedy=remedy)
        self.culprits = Culprits(frozenset(tables), frozenset(streams), frozenset(releases))
        self.missing = missing
