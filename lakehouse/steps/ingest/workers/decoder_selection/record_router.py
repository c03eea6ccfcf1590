"""Chooses the tables of each record by topic, header or field, and has each table's own decoder read its records.

This is the general way: of any format, with regular expressions, and with several tables for a record. A stream that
only routes by exact values of a field has a decoder that reads each record once (`formats/json/routed.py`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakehouse.engines.kafka.several_topics.topic_numbers import STRIDE, TopicNumbers
from lakehouse.formats.decoded import Decoded, Observed
from lakehouse.formats.evolution.stopped import TABLE_STOPPED
from lakehouse.formats.headers import read_headers
from lakehouse.formats.verdict import RecordError

Rows = npt.NDArray[np.int64]
Part = tuple[str, Rows | None, pa.RecordBatch]
"""Table, which records of a batch it gets (None: all), and their columns."""


class DecodeValues(Protocol):
    """Reads the values of some records into the columns of one table."""

    def __call__(self, records: pa.RecordBatch) -> Decoded:
        """One row a record, or its error."""
        ...


@dataclass(frozen=True)
class Choice:
    """Which tables a value chooses.

    Attributes:
        exact: value → tables.
        patterns: expressions for whole values, each with its tables; the first that matches counts.
    """

    exact: Mapping[str, tuple[str, ...]]
    patterns: Sequence[tuple[re.Pattern[str], tuple[str, ...]]] = ()
    _known: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]], compare=False)

    def tables(self, value: str) -> tuple[str, ...]:
        """The tables of a value; none where it chooses none."""
        if (exact := self.exact.get(value)) is not None:
            return exact
        if value not in self._known:
            matching = (tables for pattern, tables in self.patterns if pattern.fullmatch(value))
            if len(self._known) >= _REMEMBERED:  # a sender may use as many values as it likes
                self._known.clear()
            self._known[value] = next(matching, ())
        return self._known[value]

    def refusal(self, value: str, chooser: str, observed: Observed) -> RecordError:
        """Why a value chooses none."""
        del value, observed
        return RecordError("unknown_route", f"{chooser} names no table of this stream")


class Chooses(Protocol):
    """Which tables a value chooses: of those that were declared, or of those that records may name."""

    def tables(self, value: str) -> tuple[str, ...]:
        """The tables of a value; none where it chooses none."""
        ...

    def refusal(self, value: str, chooser: str, observed: Observed) -> RecordError:
        """Why a value chooses none; a table that is to be made is added to `observed`."""
        ...


_REMEMBERED = 10_000


@dataclass(frozen=True)
class RecordRouter:
    """The general way of a stream's records to its tables.

    Attributes:
        choice: which tables a value chooses; None: each record goes to all.
        decoders: table → what reads its records.
        header: the header that chooses; empty if none does.
        field: the field that chooses; empty if none does, and then it is the topic.
        field_of: reads this field, as the only column of a table.
    """

    choice: Chooses | None
    decoders: Mapping[str, DecodeValues]
    header: str = ""
    field: str = ""
    field_of: DecodeValues | None = None

    def tables(
        self, records: pa.RecordBatch, topics: TopicNumbers, errors: dict[int, RecordError], observed: Observed
    ) -> dict[str, Rows | None]:
        """Table → the records that it is to get (None: all), without those that `errors` takes.

        Schemas that nobody has asked for yet are added to `observed`.
        """
        if self.choice is None:
            return dict.fromkeys(self.decoders)
        values = self._values(records, topics, errors, observed)
        chosen: dict[str, list[int]] = {}
        for row, value in enumerate(values):
            if row in errors:
                continue
            if value is None:
                errors[row] = RecordError("unknown_route", f"{self._name}, which chooses the table, is missing or null")
                continue
            if not (tables := self.choice.tables(value)):
                errors[row] = self.choice.refusal(value, self._name, observed)
            for table in tables:
                chosen.setdefault(table, []).append(row)
        return {table: np.array(rows, np.int64) for table, rows in chosen.items()}

    def decode(
        self, records: pa.RecordBatch, topics: TopicNumbers, errors: dict[int, RecordError]
    ) -> tuple[list[Part], Observed]:
        """Table, its records (None: all) and their columns; `errors` takes those that are no rows.

        A record of which one table cannot be made is an error, but may be among the parts of other tables.
        """
        observed, parts = Observed(), list[Part]()
        for table, rows in self.tables(records, topics, errors, observed).items():
            own = records if rows is None else records.take(pa.array(rows))
            decoded = self.decoders[table](own)
            for counts, more in (
                (observed.schemas, decoded.observed.schemas),
                (observed.extra, decoded.observed.extra),
            ):
                counts.update({name: times for name, times in more.items() if name != self.field})
            observed.unresolved.update(decoded.observed.unresolved)
            observed.wanted.update(decoded.observed.wanted)
            observed.refused[table] += sum(error.error_class != TABLE_STOPPED for error in decoded.errors.values())
            for row, error in decoded.errors.items():
                errors.setdefault(row if rows is None else int(rows[row]), error)
            if not decoded.errors:
                parts.append((table, rows, decoded.batch))
                continue
            accepted = np.delete(np.arange(own.num_rows), list(decoded.errors))
            if not len(accepted):
                continue
            # Of a batch without columns Arrow can take nothing: all that its rows have are parts of the record.
            batch = decoded.batch.take(pa.array(accepted)) if decoded.batch.num_columns else decoded.batch
            parts.append((table, accepted if rows is None else rows[accepted], batch))
        return parts, observed

    @property
    def _name(self) -> str:
        return f"header {self.header}" if self.header else f"`{self.field}`" if self.field else "the topic"

    def _values(
        self, records: pa.RecordBatch, topics: TopicNumbers, errors: dict[int, RecordError], observed: Observed
    ) -> Sequence[str | None]:
        if self.header:
            return [self._header(text) for text in records.column("headers").to_pylist()]
        if self.field_of is None:
            numbers = records.column("partition").to_numpy() // STRIDE if topics.many else np.zeros(len(records), int)
            return [topics.names[number] for number in numbers.tolist()]
        decoded = self.field_of(records)
        errors.update(decoded.errors)
        observed.unresolved.update(decoded.observed.unresolved)
        return decoded.batch.column(0).to_pylist()

    def _header(self, text: str | None) -> str | None:
        values = [header.value for header in read_headers(text or "[]") if header.key == self.header]
        try:
            return None if not values or values[-1] is None else values[-1].decode()
        except UnicodeDecodeError:
            return None


def whole_or_none(parts: Sequence[Part], errors: Mapping[int, RecordError]) -> list[Part]:
    """The parts without the records that one of their tables, or its rules, refused."""
    if not errors:
        return list(parts)
    refused = np.array(sorted(errors), np.int64)
    kept: list[Part] = []
    for table, rows, columns in parts:
        places = np.arange(columns.num_rows) if rows is None else rows
        stays = ~np.isin(places, refused)
        if stays.all():
            kept.append((table, rows, columns))
        else:
            kept.append((table, places[stays], columns.take(pa.array(np.flatnonzero(stays)))))
    return kept


def copied_rows(parts: Sequence[Part], count: int) -> Rows:
    """The records that are in several parts, each as often as it is there but once; of a batch of so many."""
    times = np.zeros(count, np.int64)
    for _, rows, _ in parts:
        times[slice(None) if rows is None else rows] += 1
    return np.repeat(np.arange(count), np.maximum(times - 1, 0))
