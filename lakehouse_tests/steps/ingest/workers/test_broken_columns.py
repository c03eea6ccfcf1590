"""A refusal by share says which columns the refused records broke."""

from lakehouse.formats.verdict import RecordError
from lakehouse.steps.ingest.workers.broken_columns import count_column, reasons_shown


def test_columns_are_counted_by_the_error_that_names_them() -> None:
    counts: dict[str, dict[str, int]] = {}
    for error in (
        RecordError("rule", "`amount`: -3 breaks greater_than(0)"),
        RecordError("rule", "`amount`: 'a `quoted` value' breaks isin(['x'])"),
        RecordError("rule", "`day`: the value breaks str_length(10)"),
        RecordError("missing_field", "`address.street` is required, but missing or null"),
        RecordError("wrong_type", "`tags[...].name`: expected `str`, got `int`"),
        RecordError("not_json", "not UTF-8: invalid start byte at byte 3"),
        RecordError("missing_key", "the Kafka key lacks `id`"),
    ):
        count_column(counts, error)
    assert counts == {
        "rule": {"amount": 2, "day": 1},
        "missing_field": {"address": 1},
        "wrong_type": {"tags": 1},
    }
    text = reasons_shown({"not_json": 1, "rule": 3, "missing_field": 1}, counts)
    assert text == "rule: 3 (amount: 2, day: 1), missing_field: 1 (address: 1), not_json: 1"


def test_of_many_columns_the_most_frequent_are_named() -> None:
    counts = {"rule": {f"c{number}": 100 - number for number in range(8)}}
    assert reasons_shown({"rule": 700}, counts).endswith(
        "(c0: 100, c1: 99, c2: 98, c3: 97, c4: 96, and 3 more columns)"
    )
