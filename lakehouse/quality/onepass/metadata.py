"""Answers rules from manifests, as far as those decide.

Files say at most what their rows once were: where some rows are deleted, a rule that all rows kept is still kept, but
how many break one is not known.
"""

from lakehouse.quality.condition import Condition
from lakehouse.quality.onepass.bounds import holds_between
from lakehouse.quality.onepass.questions import Question
from lakehouse.quality.onepass.statistics import ColumnStatistics, Statistics


def broken_by_manifests(question: Question, known: Statistics, *, has_deletes: bool) -> int | None:
    """How many rows break a rule; None where manifests cannot tell.

    Args:
        question: the rule.
        known: what manifests say.
        has_deletes: whether some of the rows may be deleted.
    """
    if not known.rows:
        return 0
    column = known.columns.get(question.column.name)
    if column is None:
        return None
    broken = column.nulls if question.condition is None else _broken(question.condition, column)
    return None if broken and has_deletes else broken


def _broken(condition: Condition, column: ColumnStatistics) -> int | None:
    if column.spans is None:
        return None
    broken = 0
    for lower, upper, values in column.bounds():
        verdict = holds_between(condition, lower, upper)
        if verdict is None:
            return None
        broken += 0 if verdict else values
    return broken
