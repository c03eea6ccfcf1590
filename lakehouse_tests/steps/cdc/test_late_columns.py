"""What `extra` says of a column that was declared later means the same to the step and to its proof.

Guarded mechanism: a value is read only where its text has the form of its type.
"""

import json
import math
from typing import Any

import polars as pl
import pytest
from pyspark.sql import SparkSession, types
from pyspark.sql import functions as f

from lakehouse.steps.cdc.plan import schema_evolution
from lakehouse.steps.cdc.replay import changes
from lakehouse.steps.cdc.replay.late_values import late_texts

TEXTS = [
    *("true", "false", "TRUE", "t", "f", "yes", "no", "y", "1", "0", "on", "", " ", "null"),
    *(
        "12",
        " 12 ",
        "12\n",
        "+12",
        "-12",
        "-0",
        "012",
        "0x1f",
        "1_000",
        "1,000",
        "12.0",
        "12.5",
        "1e3",
        "1E-3",
        ".5",
        "5.",
    ),
    *("2147483647", "2147483648", "-2147483648", "-2147483649", "9223372036854775807", "9223372036854775808"),
    *("9" * 40, "1e400", "-1e400", "1e-400", "1.0d", "1f", "NaN", "nan", "Infinity", "-Infinity", "+Infinity", "inf"),
    *("١٢", "12L", "{}", "[1]"),
]
VALUES: list[Any] = [True, False, 0, 12, -12, 2**31, 2**53 + 1, 2**63, 0.5, -12.25, 1e300, 1e-7, 1e10, *TEXTS]
KINDS = [
    (types.StringType(), pl.String()),
    (types.BooleanType(), pl.Boolean()),
    (types.IntegerType(), pl.Int32()),
    (types.LongType(), pl.Int64()),
    (types.FloatType(), pl.Float32()),
    (types.DoubleType(), pl.Float64()),
]
NUMBERS = [
    *("-0", "0.0", "-0.0", "1e0", "1.50", "12345678901234567.0", "0.1", "1e7", "9999999.5", "1e-3", "0.00099"),
    *("123456789012345678901234567890", "-9223372036854775809", "1e400", "-1e400", "1E5", "100000000.25", "1.5e-7"),
    *('{"b": 1.0, "a": [1, null, true, "ä\\"\\n"]}', "[]", "[1.50, -0]", "{}", "null", "NaN"),
]
EXTRAS = [json.dumps({"x": value}) for value in VALUES] + [f'{{"x": {number}, "y": 1}}' for number in NUMBERS]
EXTRAS += ['{"x": 1, "y": NaN}', '{"y": 1}', "{}"]


def _plain(values: list[Any]) -> list[Any]:
    return ["NaN" if isinstance(value, float) and math.isnan(value) else value for value in values]


def proven(kind: pl.DataType) -> list[Any]:
    return _plain(changes._read(late_texts(EXTRAS, ["x"])["x"], kind).to_list())


@pytest.mark.parametrize(
    ("kind", "readable"),
    [
        (pl.Boolean(), {True, False}),
        (pl.Int32(), {0, 12, -12, 1, 2147483647, -2147483648}),
    ],
)
def test_only_the_form_of_its_type_is_a_value(kind: pl.DataType, readable: set[Any]) -> None:
    assert {value for value in proven(kind) if value is not None} == readable


@pytest.mark.spark
def test_the_step_reads_what_its_proof_reads(spark: SparkSession) -> None:
    frame = spark.createDataFrame(list(enumerate(EXTRAS)), "i int, extra string").withColumn(
        "_extra", schema_evolution._extra_values()
    )
    text = f.col("_extra").getItem("x")
    read = frame.select("i", *(schema_evolution._read(text, kind).alias(str(n)) for n, (kind, _) in enumerate(KINDS)))
    rows = sorted(read.collect())
    for n, (kind, in_polars) in enumerate(KINDS):
        of_step = dict(zip(EXTRAS, _plain([row[n + 1] for row in rows]), strict=True))
        assert of_step == dict(zip(EXTRAS, proven(in_polars), strict=True)), kind
