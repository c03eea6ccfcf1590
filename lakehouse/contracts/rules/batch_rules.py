"""The contract rules of a table, judged on batches of records."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from pandera.api.checks import Check

from lakehouse.contracts.rules.compile import compile_check
from lakehouse.contracts.rules.condition import Condition
from lakehouse.contracts.short_text import short_text
from lakehouse.declarations import Column, arrow_schema
from lakehouse.declarations.columns.column import HasColumns
from lakehouse.formats.verdict import RecordError

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers

_SHOWN = 100


@dataclass(frozen=True)
class BatchRule:
    """One rule of one column.

    Attributes:
        name: In the words of the declaration, such as `isin(['a', 'b'])`.
        sensitive: The column's values must not be shown.
    """

    column: str
    name: str
    condition: Condition
    sensitive: bool

    def broken(self, batch: pa.RecordBatch) -> np.ndarray:
        """The rows that break it."""
        holds = self.condition.holds(batch.column(self.column))
        if not holds.false_count:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(pc.fill_null(pc.invert(holds), False).to_numpy(zero_copy_only=False))

    def error(self, batch: pa.RecordBatch, row: int) -> RecordError:
        """Why a row breaks it; shows the value, unless it is sensitive."""
        shown = "the value" if self.sensitive else _short(batch.column(self.column)[row].as_py())
        return RecordError("rule", f"`{self.column}`: {shown} breaks {self.name}")


@dataclass(frozen=True)
class Rules:
    """All rules of a table.

    Attributes:
        blocking: A record that breaks one of these goes to quarantine.
        warning: A record that breaks one of these is counted.
        expected: Columns where a null is counted.
    """

    blocking: tuple[BatchRule, ...]
    warning: tuple[BatchRule, ...]
    expected: tuple[str, ...]

    def judge(self, batch: pa.RecordBatch) -> dict[int, RecordError]:
        """Rows that break a blocking rule, each with the first rule that it breaks."""
        errors: dict[int, RecordError] = {}
        for rule in self.blocking:
            for row in rule.broken(batch).tolist():
                if row not in errors:
                    errors[row] = rule.error(batch, row)
        return errors

    def warnings(self, batch: pa.RecordBatch) -> dict[str, int]:
        """How many rows break each rule that only warns; rules that none breaks are left out."""
        counts = {f"{rule.column}: {rule.name}": len(rule.broken(batch)) for rule in self.warning}
        counts |= {f"{name}: expected, but null": batch.column(name).null_count for name in self.expected}
        return {rule: count for rule, count in counts.items() if count}


def compile_rules(table: HasColumns) -> Rules:
    """Compiles the pandera checks of a table's columns.

    A rule blocks unless its column's severity is "warning" or the check itself says `raise_warning=True`.

    Raises:
        UnknownRule: A check cannot be judged record by record.
    """
    kinds = arrow_schema(table)
    blocking: list[BatchRule] = []
    warning: list[BatchRule] = []
    for column in table.columns:
        for check in column.checks:
            condition = compile_check(f"{table.name}.{column.name}", check, kinds.field(column.name).type)
            rule = BatchRule(column.name, _name(check), condition, column.sensitive)
            (warning if _only_warns(column, check) else blocking).append(rule)
    return Rules(tuple(blocking), tuple(warning), tuple(c.name for c in table.columns if c.expected))


def compile_filter(table: HasColumns, keep: Mapping[str, Check]) -> tuple[BatchRule, ...]:
    """The declared conditions under which a record is kept.

    Raises:
        UnknownRule: A check cannot be judged record by record.
    """
    kinds = arrow_schema(table)
    sensitive = {column.name for column in table.columns if column.sensitive}
    return tuple(
        BatchRule(
            name,
            _name(check),
            compile_check(f"{table.name}.{name}", check, kinds.field(name).type),
            name in sensitive,
        )
        for name, check in keep.items()
    )


def _only_warns(column: Column, check: Any) -> bool:
    return column.severity == "warning" or bool(check.raise_warning)


def _name(check: Any) -> str:
    """A check in words that no other check of the column has, since a seal tells by them what was judged.

    pandera's own words leave open ends out, and those of a declaration may say anything.
    """
    given: Mapping[str, Any] = check.statistics
    words = str(check.error or check.name)
    if not words.startswith(f"{check.name}("):
        words = f"{words} ({check.name} {', '.join(map(_argument, given.values()))})"
    words += "".join(f", {end}=False" for end in ("include_min", "include_max") if given.get(end) is False)
    if len(words) <= _SHOWN:
        return words
    digest = sha256(f"{words} {[*map(_argument, given.values())]}".encode()).hexdigest()[:8]
    return f"{short_text(words, _SHOWN)} #{digest}"


def _argument(argument: Any) -> str:
    if isinstance(argument, re.Pattern):  # its own text is cut
        return f"{argument.pattern!r} {argument.flags}"
    return repr(argument)


def _short(value: Any) -> str:
    return short_text(repr(value) if isinstance(value, str | bytes) else str(value), _SHOWN)
