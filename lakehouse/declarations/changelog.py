"""A changelog, declared once: a topic of change data, and the table that keeps every change of one source table."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from typing import Literal

import pyspark.sql.types as spark

from lakehouse.declarations.columns.column import Column, PanderaSchema, columns_of
from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.declarations.columns.names import table_identifier
from lakehouse.declarations.formats.change_format import ChangeFormat, Debezium, Flat
from lakehouse.declarations.policies.maintenance import Maintenance
from lakehouse.declarations.policies.special_values import SpecialValues, check_special_values
from lakehouse.declarations.policies.trigger import Trigger
from lakehouse.declarations.stream import MAX_QUARANTINE_RECORDS, Start
from lakehouse.declarations.table import Table

NullKeys = Literal["quarantine", "equal"]

POSITION = spark.StructType(
    [
        spark.StructField(
            "epoch", spark.LongType(), nullable=False, metadata={"comment": "Raised when the source counts anew"}
        ),
        spark.StructField(
            "commit",
            spark.LongType(),
            nullable=False,
            metadata={"comment": "Commit position in the source's log; 0 for a snapshot read"},
        ),
        spark.StructField(
            "sequence", spark.LongType(), nullable=False, metadata={"comment": "Position within that commit"}
        ),
    ]
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Changelog:
    """Changes of one source table: append-only, one normalised row per message.

    Attributes:
        name: `namespace.table` of the changelog.
        topic: the Kafka topic.
        row: a pandera model of the *source table's* row: columns, documentation, rules.
        key: the source's primary key; `()` for a table that has none: its changes are kept, and no mirror can follow.
        description: what one row of the source table is.
        owner: who answers for it.
        format: how changes are written into messages.
        source: the source table as messages name it, `schema.table`; needed where a topic carries several.
        stream: names the stream; the topic's name if None. Changelogs with the same stream share topic and publish.
        null_keys: a change with a null in its key goes to quarantine, or null counts as a value equal to itself.
        special_values: type of columns beside the key, as Spark calls it → what becomes of a value that it has no room
            for: NaN, infinity, a year before 1 or after 9999. `quarantine`; `null`; `clamp`: the nearest bound of the
            type, of NaN null. Of `string` only `text`: numbers and truth values as the message writes them. A type
            that is not named: `quarantine`; but Debezium's NaN and infinity of a `float` or `double` are values.
        start: where the stream begins the first time.
        max_quarantine_share: a run with a larger share of unacceptable records, and with more of them than
            `max_quarantine_records`, fails before it publishes anything; with 0 it fails at the first one. Below 1 it
            fails as well when the last 20 records of a partition, also of runs before, were all unacceptable.
        max_quarantine_records: up to so many unacceptable records of a run are no reason to fail, whatever their share.
        freshness: how old the oldest unread record may be before the stream's check warns.
        quarantine: the stream's table for what could not be accepted; `quarantine.<stream>` if None.
        trigger: when the stream is read, and how much one run may take; as the settings say if nothing is given.
        partitioning: of the changelog table.
        retention: how long changes are kept; forever if None.
        properties: further Iceberg table properties.
        maintenance: how the changelog is maintained.
    """

    name: str
    topic: str
    row: PanderaSchema
    key: tuple[str, ...]
    description: str
    owner: str
    format: ChangeFormat = field(default_factory=Debezium)
    source: str | None = None
    stream: str | None = None
    null_keys: NullKeys = "quarantine"
    special_values: Mapping[str, SpecialValues] = field(default_factory=dict[str, SpecialValues])
    start: Start = field(default_factory=Start.earliest)
    max_quarantine_share: float = 0.01
    max_quarantine_records: int = MAX_QUARANTINE_RECORDS
    freshness: timedelta = timedelta(hours=1)
    quarantine: str | None = None
    trigger: Trigger = field(default_factory=Trigger)
    partitioning: tuple[str, ...] = ()
    retention: timedelta | None = None
    properties: Mapping[str, str] = field(default_factory=dict[str, str])
    maintenance: Maintenance = field(default_factory=Maintenance)

    def __post_init__(self) -> None:
        """Refuse what cannot work.

        Raises:
            DeclarationError: says what and what to do.
        """
        table_identifier(self.name)
        if isinstance(self.key, str):
            raise DeclarationError(
                f"{self.name}, key: '{self.key}' is no tuple of columns.",
                remedy="write it as (…,) with a comma, or () for a table without a key.",
            )
        if not isinstance(self.format, ChangeFormat):
            raise DeclarationError(
                f"{self.name}: '{self.format}' is no format of changes.", remedy="write Debezium(), Dms() or Flat()."
            )
        if isinstance(self.format, Flat) and self.format.plain_key and len(self.key) != 1:
            raise DeclarationError(
                f"{self.name}: a plain Kafka key is one value, and the key has {len(self.key)} columns.",
                remedy="name one column, or leave plain_key out, where the Kafka key is a JSON object.",
            )
        if self.null_keys not in ("quarantine", "equal"):
            raise DeclarationError(
                f"{self.name}: null_keys is '{self.null_keys}'.", remedy="write 'quarantine' or 'equal'."
            )
        if self.retention is not None and self.retention <= timedelta(0):
            raise DeclarationError(
                f"{self.name}: a retention must be longer than nothing.", remedy="write a timedelta."
            )
        check_special_values(self.name, self.special_values, self.columns, self.key)
        _ = self.table  # checks key, partitioning and properties

    @property
    def stream_name(self) -> str:
        """Name of the stream that reads the topic."""
        return self.stream or re.sub(r"[^A-Za-z0-9_]", "_", self.topic)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The source table's columns as declared."""
        columns = columns_of(self.name, self.row)
        for column in columns:
            if column.record:
                raise DeclarationError(
                    f"{self.name}.{column.name}: a changelog has the columns of its source, and no part of a record.",
                    remedy="leave the metadata `record` out.",
                )
        return columns

    @property
    def row_columns(self) -> tuple[Column, ...]:
        """The source table's columns as an image holds them: any may be missing, but for key columns of a mirror."""
        return tuple(replace(column, required=False, checks=()) for column in self.columns)

    @cached_property
    def key_columns(self) -> tuple[Column, ...]:
        """The key's columns, in the key's order."""
        by_name = {column.name: column for column in self.columns}
        missing = [name for name in self.key if name not in by_name]
        if missing or len(set(self.key)) < len(self.key):
            raise DeclarationError(
                f"{self.name}, key: {', '.join(missing) or 'a column twice'}.",
                remedy=f"name each once, of {', '.join(by_name)}.",
            )
        for name in self.key:
            if isinstance(by_name[name].type, spark.StructType | spark.ArrayType | spark.MapType):
                raise DeclarationError(
                    f"{self.name}, key: '{name}' is a {by_name[name].type.typeName()}.",
                    remedy="use columns of simple types.",
                )
        return tuple(replace(by_name[name], required=self.null_keys == "quarantine", checks=()) for name in self.key)

    @cached_property
    def table(self) -> Table:
        """The changelog's table, with coordinates."""
        return Table(
            name=self.name,
            schema=_changelog_columns(self),
            description=f"Every change: {self.description}",
            owner=self.owner,
            partitioning=self.partitioning,
            properties=self.properties,
            maintenance=self.maintenance,
            coordinates=True,
        )


def _changelog_columns(log: Changelog) -> tuple[Column, ...]:
    sensitive = any(column.sensitive for column in log.columns)
    secret_key = any(column.sensitive for column in log.key_columns)
    key = _struct(log.key_columns)
    image = _struct(log.row_columns)
    keys = (
        Column("key", key, required=False, doc="Key of the changed row", sensitive=secret_key),
        Column(
            "other_key",
            key,
            required=False,
            doc="Where a change of key is a delete and an insert: the key on the other side",
            sensitive=secret_key,
        ),
    )
    return (
        Column(
            "operation",
            spark.StringType(),
            required=True,
            doc="insert, update, delete, read (of a snapshot), truncate, tombstone, or control (no change at all)",
        ),
        *(keys if log.key else ()),
        Column("before", image, required=False, doc="The row before, as far as the source told", sensitive=sensitive),
        Column("after", image, required=False, doc="The row after", sensitive=sensitive),
        Column(
            "unavailable",
            spark.ArrayType(spark.StringType(), containsNull=False),
            required=False,
            doc="Columns of `after` that are unchanged and whose value the source did not send",
        ),
        Column(
            "extra",
            spark.StringType(),
            required=False,
            doc="JSON of the fields of `after` that nobody declared",
            sensitive=True,
        ),
        Column("source", spark.StringType(), required=False, doc="Source table, schema.table"),
        Column("position", POSITION, required=False, doc="Place in the source's total order of changes"),
        Column("transaction_id", spark.StringType(), required=False, doc="Source transaction"),
        Column("source_time", spark.TimestampType(), required=False, doc="When the source made the change"),
    )


def _struct(columns: tuple[Column, ...]) -> spark.StructType:
    return spark.StructType(
        [
            spark.StructField(
                column.name, column.type, nullable=True, metadata={"comment": column.doc} if column.doc else {}
            )
            for column in columns
        ]
    )
