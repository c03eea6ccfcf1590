"""What a declaration asks of each row: its rules, that what is required is there, and what is merely expected."""

from dataclasses import dataclass

from lakehouse.contracts.rules.batch_rules import BatchRule, compile_rules
from lakehouse.contracts.rules.condition import Condition
from lakehouse.declarations import Column, Table
from lakehouse.declarations.columns.column import Severity
from lakehouse.declarations.policies.expectation import Rows

REQUIRED = "required, but null"
EXPECTED = "expected, but null"


@dataclass(frozen=True)
class ColumnRule:
    """One rule of one column.

    Attributes:
        column: whose values are asked.
        rule: in the words of the declaration.
        severity: what it means when it is broken.
        condition: what must hold of every value; None where a value must be there.
    """

    column: Column
    rule: str
    severity: Severity
    condition: Condition | None = None


def questions_of(declared: Table) -> list[ColumnRule]:
    """All rules of a declaration, column by column.

    Raises:
        UnknownRule: a check cannot be judged record by record.
    """
    compiled = compile_rules(declared)
    rules: list[ColumnRule] = []
    for column in declared.columns:
        if column.required:
            rules.append(ColumnRule(column, REQUIRED, column.severity))
        elif column.expected:
            rules.append(ColumnRule(column, EXPECTED, "warning"))
        rules += _checks(column, compiled.blocking, "blocking")
        rules += _checks(column, compiled.warning, "warning")
    return rules


def _checks(column: Column, rules: tuple[BatchRule, ...], severity: Severity) -> list[ColumnRule]:
    return [ColumnRule(column, rule.name, severity, rule.condition) for rule in rules if rule.column == column.name]


def row_limits(declared: Table) -> list[Rows]:
    """What a declaration expects of the number of rows."""
    return [expected for expected in declared.expects if isinstance(expected, Rows)]


def describe_limits(limits: Rows) -> str:
    """In words."""
    least = f"at least {_rows(limits.least)}" if limits.least else ""
    most = f"at most {_rows(limits.most)}" if limits.most is not None else ""
    return " and ".join(filter(None, (least, most))) or "any number of rows"


def _rows(number: int) -> str:
    return f"{number:,} row{'' if number == 1 else 's'}"
