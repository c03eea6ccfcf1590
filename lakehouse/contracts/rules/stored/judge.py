"""Judges a snapshot by its table's declaration: what metadata decides, then all that is open in one aggregate.

So the price of a rule is that of reading its column once, or nothing, however many rules there are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyiceberg.table import Table as IcebergTable
from pyiceberg.types import NestedField, PrimitiveType

from lakehouse.contracts.rules.stored.count import RowCount
from lakehouse.contracts.rules.stored.examples import ExampleColumns
from lakehouse.contracts.rules.stored.metadata import broken_by_manifests
from lakehouse.contracts.rules.stored.questions import ColumnRule, describe_limits, questions_of, row_limits
from lakehouse.contracts.rules.stored.report import AnsweredBy, ContractReport, RuleResult
from lakehouse.contracts.rules.stored.scope import RowScope
from lakehouse.contracts.rules.stored.spark_jobs import Asking, Session
from lakehouse.contracts.rules.stored.statistics import ManifestStatistics
from lakehouse.declarations import Table
from lakehouse.errors import LakehouseError


class ColumnMissing(LakehouseError):
    """The table lacks a declared column."""


def judge_snapshot(
    declared: Table, table: IcebergTable, snapshot_id: int, session: Session, *, since: int | None = None
) -> ContractReport:
    """Judge every row of a snapshot, or those that were added since another, by every rule of the declaration.

    Args:
        declared: the table with its rules.
        table: the same, loaded; the snapshot may be on any branch of it.
        snapshot_id: which snapshot.
        session: opens a Spark session; nobody asks for it where metadata answers all.
        since: judge only what was added after this snapshot, where nothing but appends and rewrites came after it.

    Raises:
        UnknownRule: a rule cannot be judged record by record.
        ColumnMissing: the snapshot lacks a declared column.
        SnapshotGone: there is no such snapshot.
    """
    scope = RowScope.of(table, snapshot_id, since)
    total = RowCount.by_summary(scope.snapshot)
    counting = any(total.outside(limits) is None for limits in row_limits(declared))
    if counting and scope.since is not None:
        scope = replace(scope, since=None, whole_because="delete files leave open how many rows there are")
    questions = questions_of(declared)
    known = ManifestStatistics.of(scope.files(), _fields(declared, scope, questions))
    rows, deletes = known.rows, scope.has_deletes
    answers = [_Answer(q, broken_by_manifests(q, known, has_deletes=deletes), "manifests") for q in questions]
    with Asking(declared, scope, session) as spark:
        unanswered = [answer for answer in answers if answer.broken is None]
        if unanswered or counting:
            rows = _scan(spark, unanswered)
        # Where metadata answers all, nobody reads a file for the sake of examples.
        if any(answer.broken for answer in unanswered):
            _find_examples(spark, declared, [answer for answer in answers if answer.broken])
        jobs = spark.jobs
    return ContractReport(
        table=declared.name,
        snapshot_id=snapshot_id,
        since=scope.since,
        whole_because=scope.whole_because,
        rows=rows,
        verdicts=(
            *(answer.verdict(rows) for answer in answers),
            *(_of_the_table(declared, RowCount(rows, rows), "scan") if counting else _of_the_table(declared, total)),
        ),
        jobs=jobs,
    )


@dataclass
class _Answer:
    """What is known of one rule so far."""

    question: ColumnRule
    broken: int | None
    source: AnsweredBy
    examples: tuple[str, ...] = ()

    def verdict(self, rows: int) -> RuleResult:
        question = self.question
        return RuleResult(
            question.column.name, question.rule, question.severity, self.broken or 0, rows, self.source, self.examples
        )


def _scan(spark: Asking, unanswered: list[_Answer]) -> int:
    """Answer what is open; returns the number of rows."""
    rows, counts = spark.broken([answer.question for answer in unanswered])
    for answer, count in zip(unanswered, counts, strict=True):
        answer.broken, answer.source = count, "scan"
    return rows


def _find_examples(spark: Asking, declared: Table, broken: list[_Answer]) -> None:
    """Examples of those rules of which something may be shown."""
    showable = [answer for answer in broken if ExampleColumns.of(answer.question, declared)]
    if showable:
        examples_of_rules = spark.examples([answer.question for answer in showable])
        for answer, examples in zip(showable, examples_of_rules, strict=True):
            answer.examples = examples


def _fields(declared: Table, scope: RowScope, questions: Sequence[ColumnRule]) -> dict[str, NestedField]:
    """The columns that rules are about, as far as manifests keep statistics of them."""
    schema = scope.schema
    existing = set(schema.column_names)
    if missing := [column.name for column in declared.columns if column.name not in existing]:
        raise ColumnMissing(
            f"{declared.name}: snapshot {scope.snapshot.snapshot_id} has no column {', '.join(missing)}.",
            remedy="run `lakehouse apply`, and write the table again.",
        )
    fields = {question.column.name: schema.find_field(question.column.name) for question in questions}
    return {name: column for name, column in fields.items() if isinstance(column.field_type, PrimitiveType)}


def _of_the_table(declared: Table, total: RowCount, source: AnsweredBy = "summary") -> list[RuleResult]:
    """Rules on the number of rows, of which the snapshot's total decides."""
    limited = row_limits(declared)
    return [
        RuleResult("", describe_limits(limits), limits.severity, total.outside(limits) or 0, total.least, source)
        for limits in limited
    ]
