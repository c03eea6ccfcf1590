"""A mirror, declared once: the present rows of a source table, kept by MERGE from its changelog."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from typing import Literal

import pyspark.sql.types as spark

from lakehouse.declarations.changelog import POSITION, Changelog
from lakehouse.declarations.columns.column import Column
from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.declarations.columns.names import table_identifier
from lakehouse.declarations.policies.maintenance import Maintenance
from lakehouse.declarations.table import Table

Deletes = Literal["hard", "soft"]

# What a mirror remembers of each row beside its values, so that changes may arrive in any order.
POSITION_COLUMN = Column("_cdc_position", POSITION, required=True, doc="Position of the newest change of this row")
TIME_COLUMN = Column("_cdc_source_time", spark.TimestampType(), required=False, doc="Source time of that change")
DIGEST_COLUMN = Column(
    "_cdc_digest", spark.LongType(), required=True, doc="Hash of that change, to know a duplicate from a contradiction"
)
BEHIND_COLUMN = Column(
    "_cdc_behind",
    spark.MapType(spark.StringType(), POSITION, valueContainsNull=False),
    required=False,
    doc="Columns whose value is older than the row, because newer changes did not send it: column to its position",
)
DELETED_COLUMN = Column("_cdc_deleted", spark.BooleanType(), required=True, doc="Whether the source deleted the row")


@dataclass(frozen=True, kw_only=True, eq=False)
class Mirror:
    """A mirror.

    Attributes:
        name: `namespace.table`.
        changelog: its declaration, or the name of one that is declared elsewhere.
        deletes: `hard` removes deleted rows, `soft` keeps them with `_cdc_deleted`.
        lateness: how long after newer changes, by the source's clock, a change may still arrive.
        max_late_share: of the changes of keys that the mirror does not know, the share that the newest runs may have
            refused as too late before a check fails.
        target_lag: how old the oldest change that is not yet in the mirror may be.
        initial: a table with the source's rows from before the changelog, such as an earlier copy. A tag holds the
            snapshot that the mirror began with, against expiry and against trimming by later publishes.
        partitioning: of the mirror, best of key columns.
        sort_order: of the mirror.
        properties: further Iceberg table properties.
        maintenance: how it and its two further tables are maintained.
        max_doubtful_keys: above how many keys with a refused change, and refused changes of unknown key, the check
            `doubtful_keys` fails; it warns at one.
        full_check_rows: up to how many changes and rows the fold check compares everything; beyond, sampled buckets.
    """

    name: str
    changelog: Changelog | str
    deletes: Deletes = "hard"
    lateness: timedelta = timedelta(hours=1)
    max_late_share: float = 0.01
    target_lag: timedelta = timedelta(minutes=5)
    initial: str | None = None
    partitioning: tuple[str, ...] = ()
    sort_order: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict[str, str])
    maintenance: Maintenance = field(default_factory=Maintenance)
    max_doubtful_keys: int = 100
    full_check_rows: int = 3_000_000

    def __post_init__(self) -> None:
        """Refuse what cannot work.

        Raises:
            DeclarationError: says what and what to do.
        """
        table_identifier(self.name)
        if self.deletes not in ("hard", "soft"):
            raise DeclarationError(f"{self.name}: deletes is '{self.deletes}'.", remedy="write 'hard' or 'soft'.")
        if self.lateness < timedelta(0) or self.target_lag <= timedelta(0):
            raise DeclarationError(
                f"{self.name}: lateness or target_lag is negative.", remedy="write timedeltas longer than nothing."
            )
        if not 0 <= self.max_late_share <= 1:
            raise DeclarationError(
                f"{self.name}: max_late_share is {self.max_late_share}.", remedy="write a share from 0 to 1."
            )
        if self.max_doubtful_keys < 0:
            raise DeclarationError(f"{self.name}: max_doubtful_keys is negative.", remedy="write 0 or more.")
        if self.full_check_rows < 0:
            raise DeclarationError(f"{self.name}: full_check_rows is negative.", remedy="write 0 or more.")
        if self.initial is not None:
            table_identifier(self.initial)

    @property
    def changelog_name(self) -> str:
        """Name of the changelog's table."""
        return self.changelog if isinstance(self.changelog, str) else self.changelog.name

    @property
    def tombstones_name(self) -> str:
        """The ledger of deleted keys: what a late change may not bring back."""
        return f"{self.name}_tombstones"

    @property
    def quarantine_table(self) -> str:
        """The table of changes that could not be applied: contradictions, and those that came too late."""
        return f"quarantine.{'_'.join(table_identifier(self.name))}"

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that the mirror's step writes, without the quarantine."""
        return (self.name, self.tombstones_name)


@dataclass(frozen=True, eq=False)
class MirrorTables:
    """A mirror with its changelog found, and the three tables that its step writes."""

    mirror: Mirror
    changelog: Changelog

    @cached_property
    def mirror_table(self) -> Table:
        """Rows of the source, and what is remembered of each."""
        mirror, log = self.mirror, self.changelog
        key = {column.name: column for column in log.key_columns}
        columns = (
            *(key.get(c.name, replace(c, required=False)) for c in log.columns),
            POSITION_COLUMN,
            TIME_COLUMN,
            DIGEST_COLUMN,
            BEHIND_COLUMN,
            *((DELETED_COLUMN,) if mirror.deletes == "soft" else ()),
        )
        return Table(
            name=mirror.name,
            schema=columns,
            description=f"{log.description} Mirror of {log.source or log.topic}, kept from {log.name}.",
            owner=log.owner,
            key=log.key if log.null_keys == "quarantine" else (),
            partitioning=mirror.partitioning,
            sort_order=mirror.sort_order,
            write_mode="merge",
            properties=mirror.properties,
            maintenance=mirror.maintenance,
        )

    @cached_property
    def tombstones_table(self) -> Table:
        """Deleted keys, each with the position of its delete; append-only but for collection."""
        return Table(
            name=self.mirror.tombstones_name,
            schema=(*self.changelog.key_columns, POSITION_COLUMN, TIME_COLUMN, DIGEST_COLUMN),
            description=f"Keys that were deleted from {self.mirror.name}, until no late change can bring them back.",
            owner=self.changelog.owner,
            maintenance=self.mirror.maintenance.without_columns(),
        )

    @cached_property
    def quarantine(self) -> Table:
        """Changes that could not be applied, by their place in the changelog."""
        secret = any(column.sensitive for column in self.changelog.key_columns)
        return Table(
            name=self.mirror.quarantine_table,
            schema=(
                Column("reason", spark.StringType(), required=True, doc="contradiction or too_late"),
                Column("message", spark.StringType(), required=True, doc="What is wrong, and what to do"),
                Column("operation", spark.StringType(), required=True, doc="The change's operation"),
                Column("key", spark.StringType(), required=False, doc="The change's key as JSON", sensitive=secret),
                Column("position", POSITION, required=False, doc="The change's position"),
                Column("source_time", spark.TimestampType(), required=False, doc="The change's source time"),
                Column("topic", spark.StringType(), required=True, doc="Where the change is in Kafka and changelog"),
                Column("partition", spark.IntegerType(), required=True, doc="Partition of that topic"),
                Column("offset", spark.LongType(), required=True, doc="Offset in that partition"),
                Column("build", spark.StringType(), required=True, doc="Which build of the mirror refused it"),
                Column("run_id", spark.StringType(), required=True, doc="Dagster run that refused it"),
            ),
            description=f"Changes of {self.changelog.name} that {self.mirror.name} could not apply, and why.",
            owner=self.changelog.owner,
            maintenance=self.mirror.maintenance.without_columns(),
        )

    @property
    def tables(self) -> tuple[Table, ...]:
        """All three, quarantine last."""
        return self.mirror_table, self.tombstones_table, self.quarantine
