"""What every form of change messages is brought to before it becomes rows of a changelog."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakehouse.declarations.changelog import Changelog
from lakehouse.declarations.columns.column import aliases_of
from lakehouse.declarations.policies.special_values import SpecialValues
from lakehouse.formats.source_names import source_struct
from lakehouse.formats.verdict import RecordError

OPERATIONS = ("insert", "update", "delete", "read", "truncate", "tombstone", "control")
"""An operation's number is its place here."""
INSERT, UPDATE, DELETE, READ, TRUNCATE, TOMBSTONE, CONTROL = range(len(OPERATIONS))

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Errors = dict[int, RecordError]


@dataclass(frozen=True, kw_only=True)
class ChangeTable:
    """A changelog as its decoder sees it; cheap to pickle.

    Attributes:
        schema: the changelog's columns without coordinates, with the table's field ids.
        sources: the source tables whose changes it takes, `schema.table`; None among them stands for all others.
        null_keys: whether a null in a key is a value like others ("equal") or a reason for quarantine.
        aliases: column → what messages call it, where that is not its name.
        special_values: Spark's name of a type → what becomes of values that it has no room for.
    """

    schema: pa.Schema
    sources: frozenset[str | None]
    null_keys: str = "quarantine"
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    special_values: Mapping[str, SpecialValues] = field(default_factory=dict[str, SpecialValues])

    @classmethod
    def of(cls, log: Changelog, schema: pa.Schema, sources: Iterable[str | None]) -> Self:
        """A declared changelog; `schema` and `sources` as above."""
        return cls(
            schema=schema,
            sources=frozenset(sources),
            null_keys=log.null_keys,
            aliases=aliases_of(log.columns),
            special_values=log.special_values,
        )

    @property
    def key(self) -> pa.StructType:
        """The key's columns; none of a table without a key."""
        index = self.schema.get_field_index("key")
        return pa.struct([]) if index < 0 else self.schema.field(index).type

    @property
    def row(self) -> pa.StructType:
        """The source table's columns."""
        return self.schema.field("after").type

    @property
    def source_key(self) -> pa.StructType:
        """The key's columns as messages call them."""
        return source_struct(self.key, self.aliases)

    @property
    def source_row(self) -> pa.StructType:
        """The source table's columns as messages call them."""
        return source_struct(self.row, self.aliases)


@dataclass(frozen=True)
class ChangePositions:
    """Positions of some changes, without the epoch.

    Attributes:
        commit: commit position.
        sequence: position within it.
        known: where there is a position at all; elsewhere the two numbers mean nothing.
    """

    commit: Ints
    sequence: Ints
    known: Bools

    @classmethod
    def none(cls, count: int) -> "ChangePositions":
        """No position for any of them."""
        return cls(np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, np.bool_))


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Some messages of one changelog, one row each, in order; rows with an error are to be ignored.

    Attributes:
        operation: numbers of `OPERATIONS`.
        before: the images as parsed, wire columns by name.
        after: the same.
        places: where in the source's log; no row is known of tombstones and controls.
        source: source table.
        transaction_id: source transaction.
        source_time: microseconds since the epoch.
        extra: row → JSON of undeclared fields.
        errors: row → reason for quarantine.
    """

    operation: npt.NDArray[np.int8]
    before: pa.StructArray
    after: pa.StructArray
    places: ChangePositions
    source: pa.StringArray
    transaction_id: pa.StringArray
    source_time: pa.Int64Array
    extra: Mapping[int, str] = field(default_factory=dict[int, str])
    errors: Errors = field(default_factory=dict[int, RecordError])

    def __len__(self) -> int:
        return len(self.operation)


def rows_where(mask: pa.BooleanArray) -> Ints:
    """Places of the trues; a null is none."""
    return np.flatnonzero(bools(mask))


def bools(mask: pa.BooleanArray) -> Bools:
    """As numpy has it; null is false."""
    return mask.fill_null(False).to_numpy(zero_copy_only=False)


def report(errors: Errors, rows: Ints, error: RecordError) -> None:
    """Note an error for rows that have none yet."""
    for row in rows.tolist():
        errors.setdefault(row, error)
