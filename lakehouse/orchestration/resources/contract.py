"""The contract rules of a table, applied to what a user wants to write: before anybody can see it."""

from collections.abc import Iterable

import pyarrow as pa

from lakehouse.contracts.rules import compile_rules
from lakehouse.declarations import Table
from lakehouse.errors import LakehouseError

_SHOWN = 3


class RulesBroken(LakehouseError):
    """Rows break a blocking rule of their table; nothing was published."""


class Verdicts:
    """What became of the rules of one write."""

    def __init__(self, table: Table) -> None:
        """Take the rules of a declaration."""
        self._table = table
        self._rules = compile_rules(table)
        self.warnings: dict[str, int] = {}

    def judge(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Count rows that break a warning rule, and refuse rows that break a blocking one.

        Raises:
            RulesBroken: says how many do, and shows the first reasons (no sensitive value).
        """
        broken, reasons = 0, dict[str, None]()
        for batch in batches:
            errors = self._rules.judge(batch)
            broken += len(errors)
            reasons |= {error.message: None for error in list(errors.values())[:_SHOWN]}
            for rule, times in self._rules.warnings(batch).items():
                self.warnings[rule] = self.warnings.get(rule, 0) + times
        if broken:
            shown = "; ".join(list(reasons)[:_SHOWN])
            raise RulesBroken(
                f"Table {self._table.name}: {broken} rows break a blocking rule ({shown}); nothing was published.",
                remedy="leave these rows out, or declare the rule as a warning",
            )

    def to_seal(self) -> dict[str, dict[str, str | int]]:
        """For the seal: rule → severity and how many rows broke it."""
        kept: dict[str, dict[str, str | int]] = {
            f"{rule.column}: {rule.name}": {"severity": "error", "broken": 0} for rule in self._rules.blocking
        }
        return kept | {rule: {"severity": "warning", "broken": times} for rule, times in self.warnings.items()}
