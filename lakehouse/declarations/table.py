"""A table, declared once: everything that the house knows about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from typing import Literal

import pyspark.sql.types as spark
from pandera.api.checks import Check
from pyiceberg.transforms import BucketTransform

from lakehouse.declarations.columns.column import COORDINATES, Column, PanderaSchema, columns_of
from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.declarations.columns.names import COORDINATE_NAMES, table_identifier
from lakehouse.declarations.columns.schemas import iceberg_schema
from lakehouse.declarations.policies.dropping import DropDuplicates, check_dropping
from lakehouse.declarations.policies.evolution import Evolution, check_evolution
from lakehouse.declarations.policies.expectation import Expectation, References
from lakehouse.declarations.policies.expectation_rules import check_own_side
from lakehouse.declarations.policies.maintenance import Maintenance
from lakehouse.declarations.storage.layout import partition_terms, sort_terms
from lakehouse.declarations.storage.properties import check_properties

WriteMode = Literal["append", "merge", "overwrite"]
_LAYOUT = ("partitioning", "sort_order")
_LEAST_FRESH = timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """A table.

    Attributes:
        name: `namespace.table`.
        schema: a pandera model (or schema) with columns, documentation and rules; or columns, for tables of our own.
        description: what one row is.
        owner: who answers for it.
        key: the columns that identify a row; all required. They are the table's identifier fields, for every engine.
        partitioning: such as `month(time_hour)`, `bucket(16, id)`, `truncate(4, code)` or `origin`.
        sort_order: such as `time_hour`, `id desc nulls last`.
        write_mode: how its writer changes it.
        runtime_date_column: the date column that carries the runtime date, for derived tables.
        fresh_within: how old its newest materialization may become: Dagster's own FreshnessPolicy.
        properties: further Iceberg table properties.
        maintenance: how it is maintained.
        expects: what is checked beyond the rules of its columns: references, distributions, conversions.
        duplicates: which records of its stream are dropped because they are there already.
        keep: column → pandera check; a record of its stream whose value does not pass is dropped, and counted. A null
            passes.
        evolution: what its stream may change of it by itself, where records change; None: nothing.
        coordinates: whether it ends with the Kafka coordinates; set for every table that a stream writes.
    """

    name: str
    schema: PanderaSchema | tuple[Column, ...]
    description: str
    owner: str
    key: tuple[str, ...] = ()
    partitioning: tuple[str, ...] = ()
    sort_order: tuple[str, ...] = ()
    write_mode: WriteMode = "append"
    runtime_date_column: str | None = None
    fresh_within: timedelta | None = None
    properties: Mapping[str, str] = field(default_factory=dict[str, str])
    maintenance: Maintenance = field(default_factory=Maintenance)
    expects: tuple[Expectation, ...] = ()
    duplicates: DropDuplicates | None = None
    keep: Mapping[str, Check] = field(default_factory=dict[str, Check])
    evolution: Evolution | None = None
    coordinates: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot work, before anything is read or written.

        Raises:
            DeclarationError: says what and what to do.
        """
        _ = self.identifier
        for label in ("key", "expects", *_LAYOUT):
            if not isinstance(value := getattr(self, label), tuple | list):
                kind = "text" if isinstance(value, str) else type(value).__name__
                raise DeclarationError(
                    f"{self.name}, {label}: a {kind} in place of a tuple.", remedy="write it as (…,) with a comma."
                )
        if not self.description or not self.owner:
            raise DeclarationError(f"{self.name}: description and owner are empty.", remedy="say what it is and whose.")
        if self.write_mode not in ("append", "merge", "overwrite"):
            raise DeclarationError(
                f"{self.name}: unknown write mode '{self.write_mode}'.", remedy="write append, merge or overwrite."
            )
        if self.fresh_within is not None and self.fresh_within < _LEAST_FRESH:
            raise DeclarationError(
                f"{self.name}: fresh_within is {self.fresh_within}, and Dagster looks once a minute.",
                remedy="write a timedelta of at least a minute.",
            )
        self._check_key()
        self._check_layout()
        self._check_runtime_date()
        self._check_expectations()
        self._check_maintenance()
        check_dropping(self.name, self.own_columns, self.key, self.duplicates, self.keep)
        check_evolution(self.name, self.evolution)
        check_properties(self)

    @property
    def identifier(self) -> tuple[str, str]:
        """Namespace and name."""
        return table_identifier(self.name)

    @cached_property
    def own_columns(self) -> tuple[Column, ...]:
        """The declared columns, without coordinates."""
        return self.schema if isinstance(self.schema, tuple) else columns_of(self.name, self.schema)

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns in order."""
        return self.own_columns + (COORDINATES if self.coordinates else ())

    def column(self, name: str) -> Column:
        """Return one column.

        Raises:
            KeyError: there is none of that name.
        """
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def with_coordinates(self) -> "Table":
        """Return the table as a stream writes it."""
        return self if self.coordinates else replace(self, coordinates=True)

    def without_coordinates(self) -> "Table":
        """Return the table as a record's sender sees it: what a decoder reads."""
        if not self.coordinates:
            return self
        layout = {name: tuple(text for text in getattr(self, name) if "_kafka_" not in text) for name in _LAYOUT}
        return replace(self, coordinates=False, **layout)

    def _declared(self, name: str, clause: str) -> Column:
        try:
            return self.column(name)
        except KeyError:
            raise DeclarationError(
                f"{self.name}, {clause}: there is no column '{name}'.",
                remedy=f"use one of {', '.join(column.name for column in self.columns)}.",
            ) from None

    def _check_key(self) -> None:
        for name in self.key:
            column = self._declared(name, "key")
            if not column.required:
                raise DeclarationError(
                    f"{self.name}, key: '{name}' may be null, so it cannot identify a row.",
                    remedy="declare it nullable=False, or leave it out of the key.",
                )
            if isinstance(column.type, spark.StructType | spark.ArrayType | spark.MapType):
                raise DeclarationError(
                    f"{self.name}, key: '{name}' is a {column.type.typeName()}.", remedy="use columns of simple types."
                )
        if len(set(self.key)) < len(self.key):
            raise DeclarationError(f"{self.name}, key: a column is named twice.", remedy="name it once.")

    def _check_layout(self) -> None:
        iceberg_schema(self)  # refuses what no column can be
        sort_terms(self)
        for term in partition_terms(self):
            # A day shows all of a date, and a month or year shows part of it: only a hash shows nothing.
            if not isinstance(term.transform, BucketTransform) and self.column(term.source).sensitive:
                raise DeclarationError(
                    f"{self.name}, partitioning: '{term.source}' is sensitive, and a partition's path shows its value.",
                    remedy="partition by bucket(n, column), or by another column.",
                )

    def _check_expectations(self) -> None:
        check_own_side(self, self.expects)
        for expected in self.expects:
            label = f"expects {type(expected).__name__}"
            if isinstance(expected, References):
                for name in expected.columns:
                    self._declared(name, label)
                if expected.to and len(expected.to) != len(expected.columns):
                    raise DeclarationError(
                        f"{self.name}, {label}: {len(expected.columns)} columns refer to {len(expected.to)}.",
                        remedy="name as many columns there as here.",
                    )

    def _check_maintenance(self) -> None:
        for name in self.maintenance.columns:
            if name not in COORDINATE_NAMES:  # a table that a stream writes has them, once it is joined to the stream
                self._declared(name, "maintenance")
        if self.maintenance.deduplicate is not None and not (self.key and self.write_mode == "append"):
            raise DeclarationError(
                f"{self.name}, maintenance: rows are deduplicated by the key of a table that is appended to.",
                remedy="declare its key, or leave deduplicate out.",
            )

    def _check_runtime_date(self) -> None:
        name = self.runtime_date_column
        if name is not None:
            column = self._declared(name, "runtime_date_column")
            if not isinstance(column.type, spark.DateType) or not column.required:
                raise DeclarationError(
                    f"{self.name}, runtime_date_column: '{name}' is no required date.",
                    remedy="declare it as DateType with nullable=False.",
                )
