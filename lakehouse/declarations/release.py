"""A group of tables that is released together, declared once; and the table that keeps its releases."""

from dataclasses import dataclass, field
from functools import cached_property

import pyspark.sql.types as spark

from lakehouse.declarations.columns.column import Column
from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.declarations.columns.names import check_stream_name, table_identifier
from lakehouse.declarations.policies.maintenance import Maintenance
from lakehouse.declarations.table import Table

_TEXT, _LONG = spark.StringType(), spark.LongType()


def _column_field(name: str, kind: spark.DataType, doc: str, *, nullable: bool = False) -> spark.StructField:
    return spark.StructField(name, kind, nullable, {"comment": doc})


_MEMBER = spark.StructType(
    [
        _column_field("table", _TEXT, "The member, namespace.table"),
        _column_field("uuid", _TEXT, "UUID of that table"),
        _column_field("snapshot_id", _LONG, "The snapshot that the tag names"),
        _column_field("runtime_date", _TEXT, "Runtime date that its seal carries; empty for a dateless table"),
        _column_field("rows", _LONG, "Rows that it holds there", nullable=True),
        _column_field("run_id", _TEXT, "Run that wrote it"),
    ]
)
_COLUMNS = (
    Column("id", _TEXT, required=True, doc="The release that the pointer names from here on"),
    Column("kind", _TEXT, required=True, doc="What moved the pointer: release or rollback"),
    Column("at", spark.TimestampType(), required=True, doc="When"),
    Column("members", spark.ArrayType(_MEMBER, containsNull=False), required=True, doc="What was released"),
    Column("runtime_date", _TEXT, required=True, doc="Runtime date of all dated members; empty where none is dated"),
    Column("parameters_digest", _TEXT, required=True, doc="Digest of the run-wide parameters of all dated members"),
    Column("parameters", _TEXT, required=True, doc="Those parameters, JSON"),
    Column("run_id", _TEXT, required=True, doc="Run that moved the pointer"),
    Column("root_run_id", _TEXT, required=True, doc="First run of its chain of re-executions"),
    Column("code_version", _TEXT, required=True, doc="Version of the release's declaration"),
    Column("moved_by", _TEXT, required=True, doc="Who moved the pointer"),
    Column("why", _TEXT, required=True, doc="Why"),
)


@dataclass(frozen=True, kw_only=True)
class Release:
    """Tables that readers see at one vintage.

    Attributes:
        name: of the group; its pointer is the table `release.<name>`.
        members: `namespace.table` each.
        description: what the group is for.
        owner: who answers for it.
        keep: how many releases stay readable.
        maintenance: how the pointer's table is maintained.
    """

    name: str
    members: tuple[str, ...]
    description: str
    owner: str
    keep: int = 30
    maintenance: Maintenance = field(default_factory=Maintenance)

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
        if self.pointer.casefold() in {member.casefold() for member in self.members}:
            raise DeclarationError(
                f"Release {self.name}: its own pointer {self.pointer} is a member.", remedy="leave that member out."
            )
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

    @cached_property
    def table(self) -> Table:
        """The pointer as a table: one row for each time that it was moved."""
        return Table(
            name=self.pointer,
            schema=_COLUMNS,
            description=f"Releases of {self.name} ({self.description.rstrip('.')}), and rollbacks; the newest seal "
            "names the current one.",
            owner=self.owner,
            maintenance=self.maintenance,
        )
