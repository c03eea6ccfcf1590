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
    (types.BooleanType(), pl.Boolean()),
    (types.IntegerType(), pl.Int32()),
    (types.LongType(), pl.Int64()),
    (types.FloatType(), pl.Float32()),
    (types.DoubleType(), pl.Float64()),
]
EXTRAS = [json.dumps({"x": value}) for value in VALUES]


def _plain(values: list[Any]) -> list[Any]:
    return ["NaN" if isinstance(value, float) and math.isnan(value) else value for value in values]


def proven(kind: pl.DataType) -> list[Any]:
    frame = pl.DataFrame({"extra": EXTRAS})
    return _plain(frame.select(changes._read("x", kind).alias("x"))["x"].to_list())


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
