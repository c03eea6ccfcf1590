"""Contract rules of a stored table: from metadata where that decides, else in one pass of Spark.

`expressions` says a rule in Spark's terms, `statistics`, `bounds` and `metadata` in those of manifests;
`scope` is which rows, `scan` and `examples` are the two jobs; `judge` tells the story. `keys` and `references` ask what
no single row can answer.
"""

from lakehouse.contracts.rules.stored.judge import ColumnMissing, judge_snapshot
from lakehouse.contracts.rules.stored.keys import KeyReport, check_key
from lakehouse.contracts.rules.stored.references import ReferenceReport, check_references
from lakehouse.contracts.rules.stored.report import AnsweredBy, ContractReport, RuleResult
from lakehouse.contracts.rules.stored.scope import SnapshotGone

__all__ = [
    "AnsweredBy",
    "ColumnMissing",
    "ContractReport",
    "KeyReport",
    "ReferenceReport",
    "RuleResult",
    "SnapshotGone",
    "check_key",
    "check_references",
    "judge_snapshot",
]
