"""The contract of a mirror's rows: what the source's row model requires, counted in what the mirror holds.

A source may break what was declared of it, and a mirror takes its rows as they are. So the rules say here how many rows
break them, after the fact, and never a value.
"""

import time
from collections import Counter
from dataclasses import dataclass

import polars as pl
import pyarrow as pa

from lakehouse.contracts.rules import Rules, compile_rules
from lakehouse.declarations import Column, MirrorTables, arrow_schema
from lakehouse.declarations.columns.column import Severity
from lakehouse.declarations.mirror import DELETED_COLUMN
from lakehouse.protocol.seals.read_group import Pinned
from lakehouse.steps.cdc.replay.piecewise import frames

_SMALL = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}


@dataclass(frozen=True)
class BrokenRule:
    """How many rows break a rule."""

    rule: str
    severity: Severity
    broken: int


@dataclass(frozen=True)
class ContractProof:
    """What became of the rules; soft-deleted rows do not count."""

    snapshot_id: int | None
    rows: int
    verdicts: tuple[BrokenRule, ...]
    seconds: float = 0.0

    @property
    def broken(self) -> list[BrokenRule]:
        """Rules that some row breaks."""
        return [verdict for verdict in self.verdicts if verdict.broken]

    @property
    def blocking(self) -> bool:
        """Whether a rule is broken that is more than a warning."""
        return any(verdict.severity == "blocking" for verdict in self.broken)


@dataclass(frozen=True)
class _Source:
    """The source's row as declared, for the rules."""

    name: str
    columns: tuple[Column, ...]


def check_contract(tables: MirrorTables, mirror: Pinned) -> ContractProof:
    """Judge every row in one pass over the columns that have rules.

    Raises:
        UnknownRule: a check cannot be judged record by record.
    """
    began = time.monotonic()
    column_names = set(mirror.table.schema().column_names)
    source = _Source(tables.mirror.name, tuple(c for c in tables.changelog.columns if c.name in column_names))
    rules = compile_rules(source)
    severities = _severities(source, rules)
    counts: Counter[str] = Counter()
    rows = 0
    for piece in frames(mirror.table, mirror.snapshot_id, _needed(source, rules, tables)):
        live = piece.filter(~pl.col(DELETED_COLUMN.name)) if DELETED_COLUMN.name in piece.columns else piece
        rows += live.height
        counts.update(_judged(source, rules, live))
    verdicts = tuple(BrokenRule(rule, severity, counts[rule]) for rule, severity in severities.items())
    return ContractProof(mirror.snapshot_id, rows, verdicts, round(time.monotonic() - began, 3))


def _required(column: str) -> str:
    return f"{column}: required, but null"


def _severities(source: _Source, rules: Rules) -> dict[str, Severity]:
    """Every rule, in the words in which it is counted."""
    severities: dict[str, Severity] = {_required(c.name): c.severity for c in source.columns if c.required}
    for rule in rules.blocking:
        severities[f"{rule.column}: {rule.name}"] = "blocking"
    warnings = [f"{rule.column}: {rule.name}" for rule in rules.warning]
    for name in (*warnings, *(f"{column}: expected, but null" for column in rules.expected)):
        severities[name] = "warning"
    return severities


def _needed(source: _Source, rules: Rules, tables: MirrorTables) -> list[str]:
    judged = {rule.column for rule in (*rules.blocking, *rules.warning)} | set(rules.expected)
    needed = [c.name for c in source.columns if c.required or c.name in judged] or [source.columns[0].name]
    return [*needed, *([DELETED_COLUMN.name] if tables.mirror.deletes == "soft" else [])]


def _judged(source: _Source, rules: Rules, rows: pl.DataFrame) -> dict[str, int]:
    batch = _batch(source, rows)
    broken = {f"{rule.column}: {rule.name}": len(rule.broken(batch)) for rule in rules.blocking}
    nulls = {_required(c.name): batch.column(c.name).null_count for c in source.columns if c.required}
    return broken | nulls | rules.warnings(batch)


def _batch(source: _Source, rows: pl.DataFrame) -> pa.RecordBatch:
    """In the types of the declaration, with small strings, for which the rules are made."""
    declared = arrow_schema(source)
    table = rows.to_arrow()
    fields = [declared.field(name) for name in table.column_names if name in declared.names]
    schema = pa.schema([pa.field(f.name, _SMALL.get(f.type, f.type)) for f in fields])
    cast = table.select(schema.names).cast(schema).combine_chunks()
    return cast.to_batches()[0] if cast.num_rows else pa.RecordBatch.from_pylist([], schema)
