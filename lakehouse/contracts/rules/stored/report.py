"""What became of a table's contract: rule by rule, how many rows break it, and from where that is known."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from lakehouse.contracts.rules.stored.questions import describe_limits, questions_of, row_limits
from lakehouse.declarations import Table
from lakehouse.declarations.columns.column import Severity

AnsweredBy = Literal["seal", "summary", "manifests", "scan"]
_SOURCES: tuple[AnsweredBy, ...] = get_args(AnsweredBy)


@dataclass(frozen=True)
class RuleResult:
    """What became of one rule.

    Attributes:
        column: whose values it is about; empty for a rule of the whole table.
        rule: in the words of the declaration.
        severity: what it means when it is broken.
        broken: rows that break it; of a rule on the number of rows, how many are missing or too many.
        rows: rows that were judged.
        answered_by: where that is known from.
        examples: a few rows that break it, without any value of a sensitive column.
    """

    column: str
    rule: str
    severity: Severity
    broken: int
    rows: int
    answered_by: AnsweredBy
    examples: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The rule with its column, as seals name it."""
        return f"{self.column}: {self.rule}" if self.column else self.rule

    @property
    def share(self) -> float:
        """Which share of the rows breaks it."""
        return self.broken / self.rows if self.rows else 0.0


@dataclass(frozen=True)
class ContractReport:
    """What became of all rules of a table at a snapshot.

    Attributes:
        table: `namespace.table`.
        snapshot_id: the snapshot that was judged.
        since: only what was added after this snapshot was judged; None if all rows were.
        whole_because: why all rows were judged although only new ones were asked for.
        rows: rows that were judged; at most so many where nothing was scanned and the snapshot has delete files.
        verdicts: by column, in the order of the declaration.
        jobs: how many Spark jobs that took.
    """

    table: str
    snapshot_id: int
    since: int | None
    whole_because: str
    rows: int
    verdicts: tuple[RuleResult, ...]
    jobs: int

    @property
    def broken(self) -> list[RuleResult]:
        """Rules that some row breaks."""
        return [verdict for verdict in self.verdicts if verdict.broken]

    @property
    def broken_blocking(self) -> list[RuleResult]:
        """Those of them that stop a step."""
        return [verdict for verdict in self.broken if verdict.severity == "blocking"]

    @property
    def answered(self) -> Mapping[AnsweredBy, int]:
        """Where rules were answered from → how many were."""
        return {source: sum(verdict.answered_by == source for verdict in self.verdicts) for source in _SOURCES}

    def to_seal(self) -> dict[str, dict[str, str | int]]:
        """For the seal's `quality.rules`: rule → severity and how many rows broke it."""
        words = {"blocking": "error", "warning": "warning"}
        return {v.name: {"severity": words[v.severity], "broken": v.broken} for v in self.verdicts}

    @classmethod
    def sealed(cls, declared: Table, snapshot_id: int, rows: int, counts: Mapping[str, int]) -> "ContractReport | None":
        """The report whose `to_seal()` is in a seal; None where the declaration has other rules by now.

        Args:
            declared: the table with its rules.
            snapshot_id: the snapshot, all of whose rows were judged.
            rows: how many these are.
            counts: rule → how many rows broke it.
        """
        of_rows = [RuleResult(q.column.name, q.rule, q.severity, 0, rows, "seal") for q in questions_of(declared)]
        limited = row_limits(declared)
        of_table = [RuleResult("", describe_limits(limits), limits.severity, 0, rows, "seal") for limits in limited]
        verdicts = of_rows + of_table
        if {verdict.name for verdict in verdicts} != set(counts):
            return None
        results = tuple(replace(verdict, broken=counts[verdict.name]) for verdict in verdicts)
        return cls(declared.name, snapshot_id, None, "", rows, results, 0)
