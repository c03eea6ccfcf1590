"""Contract rules of a stored table: from metadata where that decides, else in one pass of Spark.

`expressions` says a rule in Spark's terms, `statistics`, `bounds` and `metadata` in those of manifests;
`scope` is which rows, `scan` and `examples` are the two jobs; `judge` tells the story. `keys` and `references` ask what
no single row can answer.
"""

from lakehouse.quality.onepass.judge import ColumnMissing, judge_snapshot
from lakehouse.quality.onepass.keys import KeyReport, check_key
from lakehouse.quality.onepass.references import ReferenceReport, check_references
from lakehouse.quality.onepass.report import AnsweredBy, ContractReport, RuleVerdict
from lakehouse.quality.onepass.scope import SnapshotGone

__all__ = [
    "AnsweredBy",
    "ColumnMissing",
    "ContractReport",
    "KeyReport",
    "ReferenceReport",
    "RuleVerdict",
    "SnapshotGone",
    "check_key",
    "check_references",
    "judge_snapshot",
]
