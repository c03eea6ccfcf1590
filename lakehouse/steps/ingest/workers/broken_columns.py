"""Which columns records broke that were not accepted: a refusal by share says where to look, and shows no value."""

import re
from collections.abc import Mapping, MutableMapping

from lakehouse.formats.verdict import RecordError

_SHOWN = 5
# A message begins with the path that it is about, if it is about one.
_COLUMN = re.compile(r"`([^`.\[]+)[^`]*`")


def count_column(counts: MutableMapping[str, dict[str, int]], error: RecordError) -> None:
    """Count a record under the column that its error names, if it names one.

    Args:
        counts: error class → column → records.
        error: of the record.
    """
    if (match := _COLUMN.match(error.message)) is not None:
        columns = counts.setdefault(error.error_class, {})
        columns[match[1]] = columns.get(match[1], 0) + 1


def reasons_shown(errors: Mapping[str, int], columns: Mapping[str, Mapping[str, int]]) -> str:
    """Error classes, the most frequent first, each with its columns: `rule: 12 (amount: 9, day: 3), not_json: 1`."""
    return ", ".join(f"{reason}: {times}{_columns(columns.get(reason, {}))}" for reason, times in _by_number(errors))


def _columns(columns: Mapping[str, int]) -> str:
    if not columns:
        return ""
    shown = [f"{column}: {times}" for column, times in _by_number(columns)]
    more = [f"and {len(shown) - _SHOWN} more columns"] if len(shown) > _SHOWN else []
    return f" ({', '.join([*shown[:_SHOWN], *more])})"


def _by_number(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
