"""Answers rules from manifests, as far as those decide.

Files say at most what their rows once were: where some rows are deleted, a rule that all rows kept is still kept, but
how many break one is not known.
"""

from lakehouse.contracts.rules.condition import Condition
from lakehouse.contracts.rules.stored.bounds import holds_between
from lakehouse.contracts.rules.stored.questions import ColumnRule
from lakehouse.contracts.rules.stored.statistics import ColumnBounds, ManifestStatistics


def broken_by_manifests(question: ColumnRule, known: ManifestStatistics, *, has_deletes: bool) -> int | None:
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


def _broken(condition: Condition, column: ColumnBounds) -> int | None:
    if column.spans is None:
        return None
    broken = 0
    for lower, upper, values in column.bounds():
        verdict = holds_between(condition, lower, upper)
        if verdict is None:
            return None
        broken += 0 if verdict else values
    return broken
