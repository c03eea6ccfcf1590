"""A group of tables that is released together, declared once."""

from dataclasses import dataclass

from lakehouse.tables.error import DeclarationError
from lakehouse.tables.names import check_stream_name, table_identifier


@dataclass(frozen=True, kw_only=True)
class Release:
    """Tables that readers see at one vintage.

    Attributes:
        name: of the group; its pointer is the table `release.<name>`.
        members: `namespace.table` each.
        description: what the group is for.
        owner: who answers for it.
        keep: how many releases stay readable.
    """

    name: str
    members: tuple[str, ...]
    description: str
    owner: str
    keep: int = 30

    def __post_init__(self) -> None:
        """Refuse what cannot work.

        Raises:
            DeclarationError: says what and what to do.
        """
        check_stream_name(self.name)
        for member in self.members:
            table_identifier(member)
        if not self.members or len(set(self.members)) < len(self.members):
            raise DeclarationError(f"Release {self.name}: no members, or one twice.", remedy="name each table once.")
        if not self.description or not self.owner:
            raise DeclarationError(
                f"Release {self.name}: description and owner are empty.", remedy="say what it is and whose."
            )
        if self.keep < 1:
            raise DeclarationError(f"Release {self.name}: keep is {self.keep}.", remedy="keep at least one.")

    @property
    def pointer(self) -> str:
        """The table whose newest seal names the current release, and whose rows are all of them."""
        return f"release.{self.name}"
