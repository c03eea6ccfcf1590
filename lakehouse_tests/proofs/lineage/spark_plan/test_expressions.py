"""Texts stand in a printed plan without quotes; whatever they look like, no column gets a wrong origin."""

import pytest

from lakehouse.proofs.lineage.spark_plan.expressions import Attribute, ExpressionScope, Output, outputs

BELOW = Output(
    (Attribute("a", 1, frozenset({("raw.t", "a")})), Attribute("b", 2, frozenset({("raw.t", "b")}))), whole=True
)


def origins(text: str, below: Output = BELOW) -> dict[str, set[str] | None]:
    """Column → columns of `raw.t`, None where that is in doubt."""
    columns = outputs(text, ExpressionScope(below)).columns
    return {column.name: None if column.sources is None else {name for _, name in column.sources} for column in columns}


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("a#1L, (a#1L + b#2) AS sum#3", {"a": {"a"}, "sum": {"a", "b"}}),
        ("A#1L, 5 AS five#3", {"A": {"a"}, "five": set()}),
        ("x, y AS text#3, b#2", {"text": set(), "b": {"b"}}),
        ("f(a#1L)#7 AS result#3", {"result": {"a"}}),
        ("b#1 AS text#3", {"text": None}),
        ("a#9 AS gone#3, c#2", {"gone": None, "c": None}),
        ("outer(a#1L) AS x#3", {"x": None}),
        # concat('(', a) AS c, concat(')', b) AS d
        ("concat((, a#1L) AS c#3, concat(), b#2) AS d#4", {"d": None}),
        ("concat( AS , a#1L) AS c#3", {"c": None}),
        # concat('(', a): the brackets do not match, so nothing is taken apart
        ("concat((, a#1L) AS c#3, b#2", {}),
    ],
)
def test_what_is_understood_and_what_is_left_in_doubt(printed: str, expected: dict[str, set[str] | None]) -> None:
    assert origins(printed) == expected


def test_the_number_of_an_unknown_column_is_not_taken_for_a_functions() -> None:
    assert origins("sum(a)#9 AS x#3") == {"x": set()}, "all that is below is known, and it is none of that"
    assert origins("sum(a)#9 AS x#3", Output(BELOW.columns, whole=False)) == {"x": None}
