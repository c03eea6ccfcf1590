"""Same values: did a conversion change any?"""

from typing import Any

from lakehouse.contracts.profile.conversion import ConversionResult, Pair, compare
from lakehouse.contracts.profile.plots import draw_conversion
from lakehouse.declarations import SameValues
from lakehouse.engines.spark.naming import rows_at
from lakehouse.orchestration.checks.profile.answer import Answer, nothing_to_judge
from lakehouse.orchestration.checks.profile.measurement import counterpart
from lakehouse.orchestration.checks.table_question import TableCheckRun
from lakehouse.orchestration.resources.materialization import rows_shown


def describe(expected: SameValues) -> str:
    """What the check proves."""
    key = f" by {', '.join(expected.key)}" if expected.key else " by the table's key"
    return (
        f"Each value of {expected.column} is that of {expected.table}.{expected.to or expected.column}, matched{key}: "
        "no conversion has rounded, cut off, moved or dropped one. Numbers are the same in whatever spelling, instants "
        "in whatever zone; null is the same as null alone. Rows without a partner are counted, not judged. A warning, "
        "which blocks nothing."
    )


def answer(check_run: TableCheckRun, expected: SameValues) -> Answer:
    """Compare a converted column with its original."""
    original = counterpart(check_run, expected.table)
    snapshot_id, original_id = check_run.pinned.snapshot_id, original.snapshot_id
    metadata: dict[str, Any] = {"other snapshot id": str(original_id or "none")}
    if snapshot_id is None or original_id is None:
        return nothing_to_judge("There are no rows to compare yet.", metadata)
    compared = _compared(check_run, expected, snapshot_id, original_id)[expected.column]
    metadata |= {
        "rows": compared.rows,
        "rows compared": compared.partners,
        "rows without original": compared.rows - compared.partners,
        "originals not here": compared.originals,
        "changed": compared.changed,
        "null now": compared.lost,
        "value from null": compared.invented,
        **_examples(compared),
    }
    passed = not compared.different and bool(compared.partners or not compared.rows)
    figure = draw_conversion(expected.column, f"{expected.table}.{expected.to or expected.column}", compared)
    return Answer(passed, _describe_conversion(expected, compared), metadata, figure)


def _compared(
    check_run: TableCheckRun, expected: SameValues, snapshot_id: int, original_id: int
) -> dict[str, ConversionResult]:
    """All columns that are compared with the same table by the same key, in one job."""
    key = expected.key or check_run.table.key
    together = [
        expectation
        for expectation in check_run.table.expects
        if isinstance(expectation, SameValues)
        and expectation.table == expected.table
        and (expectation.key or check_run.table.key) == key
    ]
    pairs = [_pair(check_run, expectation, key) for expectation in together]

    def find() -> dict[str, ConversionResult]:
        with check_run.session() as spark:
            frames = rows_at(spark, check_run.table.name, snapshot_id), rows_at(spark, expected.table, original_id)
            return compare(*frames, key, pairs, names=(check_run.table.name, expected.table))

    return check_run.once(("same values", expected.table, key), find)


def _pair(check_run: TableCheckRun, expected: SameValues, key: tuple[str, ...]) -> Pair:
    other = check_run.lake.declared(expected.table)
    own, original = check_run.table.column(expected.column), other.column(expected.to or expected.column)
    shown = [own, original, *(table.column(name) for table in (check_run.table, other) for name in key)]
    visible = not any(column.sensitive for column in shown)
    return Pair(own.name, own.type, original.name, original.type, visible=visible)


def _examples(compared: ConversionResult) -> dict[str, Any]:
    if not compared.examples:
        return {}
    columns = {"what": "string", "key": "string", "original": "string", "converted": "string"}
    words = {"changed": "changed", "lost": "null now", "invented": "value from null"}
    return {"examples": rows_shown(columns, [(words[outcome], *rest) for outcome, *rest in compared.examples])}


def _describe_conversion(expected: SameValues, compared: ConversionResult) -> str:
    where = f"{expected.table}.{expected.to or expected.column}"
    alone = compared.rows - compared.partners
    without = f" {alone:,} rows have no partner there." if alone else ""
    if not compared.partners:
        return f"No row of this table has a partner in {expected.table}: nothing was compared."
    if not compared.different:
        return f"All {compared.partners:,} values of {expected.column} are those of {where}.{without}"
    kinds = [(compared.changed, "changed"), (compared.lost, "null now"), (compared.invented, "there where null was")]
    differences = ", ".join(f"{count:,} {outcome}" for count, outcome in kinds if count)
    share = f"{compared.different:,} of {compared.partners:,} values of {expected.column}"
    return f"{share} are not those of {where}: {differences}.{without}"
