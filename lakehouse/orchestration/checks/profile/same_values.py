"""Same values: did a conversion change any?"""

import time
from typing import Any

import dagster as dg

from lakehouse.contracts.profile.conversion import ConversionResult, Pair, compare
from lakehouse.contracts.profile.plots import draw_conversion
from lakehouse.declarations import SameValues
from lakehouse.engines.spark.naming import rows_at
from lakehouse.orchestration.checks.profile.measurement import counterpart
from lakehouse.orchestration.checks.profile.result import result
from lakehouse.orchestration.checks.table_question import TableCheckRun
from lakehouse.orchestration.resources.materialization import rows_shown


def name_of(expected: SameValues) -> str:
    """The check's name."""
    return f"same_values_{expected.column}"


def description_of(expected: SameValues) -> str:
    """What the check proves."""
    key = f" by {', '.join(expected.key)}" if expected.key else " by the table's key"
    return (
        f"Each value of {expected.column} is that of {expected.table}.{expected.to or expected.column}, matched{key}: "
        "no conversion has rounded, cut off, moved or dropped one. Numbers are the same in whatever spelling, instants "
        "in whatever zone; null is the same as null alone. Rows without a partner are counted, not judged. A warning, "
        "which blocks nothing."
    )


def same_values_result(asked: TableCheckRun, expected: SameValues) -> dg.AssetCheckResult:
    """Compare a converted column with its original."""
    began = time.monotonic()
    name, original = name_of(expected), counterpart(asked, expected.table)
    here, there = asked.pinned.snapshot_id, original.snapshot_id
    metadata: dict[str, Any] = {"other snapshot id": str(there or "none")}
    if here is None or there is None:
        return result(asked, name, passed=True, said="There are no rows to compare yet.", metadata=metadata)
    found = _compared(asked, expected, here, there)[expected.column]
    metadata |= {
        "rows": found.rows,
        "rows compared": found.partners,
        "rows without original": found.rows - found.partners,
        "originals not here": found.originals,
        "changed": found.changed,
        "null now": found.lost,
        "value from null": found.invented,
        **_examples(found),
        "seconds": round(time.monotonic() - began, 3),
    }
    return result(
        asked,
        name,
        passed=not found.different and bool(found.partners or not found.rows),
        said=_describe(expected, found),
        metadata=metadata,
        picture=draw_conversion(expected.column, f"{expected.table}.{expected.to or expected.column}", found),
    )


def _compared(asked: TableCheckRun, expected: SameValues, here: int, there: int) -> dict[str, ConversionResult]:
    """All columns that are compared with the same table by the same key, in one job."""
    key = expected.key or asked.table.key
    together = [
        one
        for one in asked.table.expects
        if isinstance(one, SameValues) and one.table == expected.table and (one.key or asked.table.key) == key
    ]
    pairs = [_pair(asked, one, key) for one in together]

    def find() -> dict[str, ConversionResult]:
        with asked.session() as spark:
            frames = rows_at(spark, asked.table.name, here), rows_at(spark, expected.table, there)
            return compare(*frames, key, pairs, names=(asked.table.name, expected.table))

    return asked.once(("same values", expected.table, key), find)


def _pair(asked: TableCheckRun, expected: SameValues, key: tuple[str, ...]) -> Pair:
    other = asked.declarations.tables[expected.table]
    mine, theirs = asked.table.column(expected.column), other.column(expected.to or expected.column)
    shown = [mine, theirs, *(table.column(name) for table in (asked.table, other) for name in key)]
    visible = not any(column.sensitive for column in shown)
    return Pair(mine.name, mine.type, theirs.name, theirs.type, visible=visible)


def _examples(found: ConversionResult) -> dict[str, Any]:
    if not found.examples:
        return {}
    columns = {"what": "string", "key": "string", "original": "string", "converted": "string"}
    words = {"changed": "changed", "lost": "null now", "invented": "value from null"}
    return {"examples": rows_shown(columns, [(words[what], *rest) for what, *rest in found.examples])}


def _describe(expected: SameValues, found: ConversionResult) -> str:
    where = f"{expected.table}.{expected.to or expected.column}"
    alone = found.rows - found.partners
    without = f" {alone:,} rows have no partner there." if alone else ""
    if not found.partners:
        return f"No row of this table has a partner in {expected.table}: nothing was compared."
    if not found.different:
        return f"All {found.partners:,} values of {expected.column} are those of {where}.{without}"
    kinds = [(found.changed, "changed"), (found.lost, "null now"), (found.invented, "there where null was")]
    said = ", ".join(f"{count:,} {what}" for count, what in kinds if count)
    some = f"{found.different:,} of {found.partners:,} values of {expected.column}"
    return f"{some} are not those of {where}: {said}.{without}"
