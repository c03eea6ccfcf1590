"""One type for the values of two, and what a policy does not allow."""

from typing import Any

import pytest
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from lakehouse.declarations.schema_changes.merging import Merging, optional


def struct(**fields: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in fields.items()])


@pytest.mark.parametrize(
    ("have", "want", "merged"),
    [
        (IntegerType(), LongType(), LongType()),
        (LongType(), IntegerType(), LongType()),
        (FloatType(), DoubleType(), DoubleType()),
        (DoubleType(), LongType(), DoubleType()),
        (DecimalType(5, 2), DecimalType(9, 2), DecimalType(9, 2)),
        (DecimalType(9, 3), DecimalType(5, 2), DecimalType(9, 3)),
        (ArrayType(IntegerType()), ArrayType(LongType()), ArrayType(LongType())),
        (MapType(StringType(), FloatType()), MapType(StringType(), DoubleType()), MapType(StringType(), DoubleType())),
        (struct(a=IntegerType()), struct(b=LongType(), a=LongType()), struct(a=LongType(), b=LongType())),
    ],
)
def test_a_type_for_both(have: DataType, want: DataType, merged: DataType) -> None:
    merging = Merging()
    assert merging.merged(have, want, "x") == merged
    assert not merging.conflicts


@pytest.mark.parametrize(
    ("have", "want", "policy", "conflicts"),
    [
        (LongType(), StringType(), {}, {"x": "bigint, and records have string"}),
        (LongType(), DoubleType(), {}, {"x": "bigint, and records have double"}),
        (DecimalType(5, 2), DecimalType(9, 3), {}, {"x": "decimal(5,2), and records have decimal(9,3)"}),
        (IntegerType(), LongType(), {"widen": False}, {"x": "int, and records have bigint"}),
        (
            struct(a=struct(b=LongType())),
            struct(a=struct(b=StringType())),
            {},
            {"x.a.b": "bigint, and records have string"},
        ),
    ],
)
def test_what_does_not_meet(have: DataType, want: DataType, policy: dict[str, Any], conflicts: dict[str, str]) -> None:
    merging = Merging(**policy)
    assert merging.merged(have, want, "x") == have
    assert merging.conflicts == conflicts


def test_a_field_is_added_as_the_policy_says_and_never_as_another_ones_twin() -> None:
    want = struct(a=LongType(), A=LongType(), b=LongType())
    assert Merging(add=False).merged(struct(a=LongType()), want, "x") == struct(a=LongType())
    merging = Merging()
    assert merging.merged(struct(a=LongType()), want, "x") == struct(a=LongType(), b=LongType())
    assert merging.twins == ["x.A"]


def test_what_is_required_becomes_optional_as_the_policy_says() -> None:
    have = StructType([StructField("a", LongType(), nullable=False)])
    refusing = Merging(relax=False)
    assert refusing.merged(have, struct(b=LongType()), "x")["a"].nullable is False  # type: ignore[index]
    assert refusing.conflicts == {"x.a": "required, and records lack it"}
    assert Merging().merged(have, struct(b=LongType()), "x") == struct(a=LongType(), b=LongType())
    assert optional(ArrayType(have, containsNull=False)) == ArrayType(struct(a=LongType()))
