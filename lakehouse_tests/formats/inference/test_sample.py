"""What a sample says of columns: types, nulls, names, and what a person should look at."""

import json

import pytest

from lakehouse.formats.inference.proposal import type_text
from lakehouse.formats.inference.sample import infer


def columns(*records: object) -> dict[str, tuple[str, bool]]:
    return {
        c.name: (type_text(c.type) if c.type else "", c.nullable)
        for c in infer([json.dumps(r).encode() for r in records]).columns
    }


def test_types_and_nulls() -> None:
    assert columns(
        {"id": 1, "price": 1, "on": "2026-01-02", "when": "2026-01-02T03:04:05Z", "ok": True, "note": None},
        {"id": 2**40, "price": 1.5, "on": "2026-01-03", "when": "2026-01-02T03:04:05.5+01:00", "ok": False},
    ) == {
        "id": ("LongType()", False),
        "price": ("DoubleType()", False),
        "on": ("DateType()", False),
        "when": ("TimestampType()", False),
        "ok": ("BooleanType()", False),
        "note": ("StringType()", True),
    }


def test_nested() -> None:
    assert columns({"a": {"b": [1, None], "c": "x"}, "tags": ["x"], "m": {"k 1": 1}}, {"a": {"b": []}, "tags": []}) == {
        "a": (
            'StructType([StructField("b", ArrayType(LongType()), nullable=False), StructField("c", StringType())])',
            False,
        ),
        "tags": ("ArrayType(StringType(), containsNull=False)", False),
        "m": ("MapType(StringType(), LongType())", True),
    }


@pytest.mark.parametrize(
    ("values", "expected", "remark"),
    [
        ((1, "x"), "StringType()", "long and string were seen, of which a record has to be one"),
        (("2026-01-02", "x"), "StringType()", "as text: date and string were seen"),
        ((None, None), "StringType()", "only null was seen"),
    ],
)
def test_what_a_person_should_look_at(values: tuple[object, ...], expected: str, remark: str) -> None:
    [column] = infer([json.dumps({"f": value}).encode() for value in values]).columns
    assert (column.type and type_text(column.type), column.remark) == (expected, remark)


def test_names_that_differ_in_case_alone_and_names_that_are_none() -> None:
    proposed = infer([b'{"Amount": 1, "amount": 2, "unit price": 3, "1st": 4, "_kafka_offset": 5}']).columns
    assert [(c.name, c.alias) for c in proposed] == [
        ("Amount", ""),
        ("amount_2", "amount"),
        ("unit_price", "unit price"),
        ("f_1st", "1st"),
        ("kafka_offset", "_kafka_offset"),
    ]
    assert "but for its case" in proposed[1].remark


def test_what_is_no_object_is_counted() -> None:
    inferred = infer([b"{", None, b"[1]", b'{"a": 1}'])
    assert (inferred.records, inferred.others) == (1, 3)


def test_a_column_of_which_no_value_came_twice_may_be_a_key() -> None:
    records = [{"id": n, "code": f"c{n}", "kind": n % 2, "paid": True, "price": n / 2} for n in range(20)]
    assert infer([json.dumps(record).encode() for record in records]).unique == ("id", "code")
    assert infer([json.dumps(record).encode() for record in [*records, records[0]]]).unique == ()
    assert infer([json.dumps(record).encode() for record in [*records, {"id": 20}]]).unique == ("id",)
    assert infer([json.dumps(record).encode() for record in records[:19]]).unique == (), "of so few nobody can tell"
