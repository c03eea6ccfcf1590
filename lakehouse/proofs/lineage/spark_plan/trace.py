"""Traces a Spark frame to what it reads, by the plan that Spark prints: the same on classic Spark and Spark Connect.

The analysed plan is what counts: it has every relation that the query names, also those that the optimizer leaves out,
those behind a cache, and those that are counted from metadata. What no plan shows: rows that came to Python and went
back (`collect`, `createDataFrame`), and whatever lies before a checkpoint.
"""

import uuid
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from lakehouse.errors import LakehouseError
from lakehouse.proofs.lineage.spark_plan.columns import Columns
from lakehouse.proofs.lineage.spark_plan.scans import scanned
from lakehouse.proofs.lineage.spark_plan.tree import Node, parse_tree

_BEGIN, _END = "== Analyzed Logical Plan ==\n", "\n\n== Optimized Logical Plan =="
_FAILED = "Error occurred during query planning:"
# A longer list of columns, or a longer plan, would be printed without its end.
_UNCUT = {"spark.sql.debug.maxToStringFields": str(2**31 - 1), "spark.sql.maxPlanStringLength": str(2**31 - 16)}


class CannotTrace(LakehouseError):
    """Spark did not print a plan."""


@dataclass(frozen=True)
class Trace:
    """What a frame reads.

    Attributes:
        scanned: `namespace.table` → snapshot id; None where the plan names no snapshot, or more than one. Sources
            outside the catalog are among them under a name for people, such as `files (parquet)`.
        columns: output column → the columns (table, column) that it is computed from; none for a constant. A column
            whose origin is in doubt is left out.
    """

    scanned: Mapping[str, int | None]
    columns: Mapping[str, tuple[tuple[str, str], ...]]


def trace(frame: DataFrame) -> Trace:
    """Find out what a frame reads, without running it.

    Raises:
        CannotTrace: Spark cannot plan the query.
    """
    plan = parse_tree(_analysed(frame))
    return Trace(scanned(plan), _columns(plan, frame.columns))


def _analysed(frame: DataFrame) -> str:
    """The analysed plan of a frame, as Spark prints it, whole.

    Raises:
        CannotTrace: Spark cannot plan the query.
    """
    spark = frame.sparkSession
    view = f"lakehouse_trace_{uuid.uuid4().hex}"
    # Of the frame as it is: dropping a view also ends the cache of exactly that plan, and this one may be cached.
    frame.where("true").createTempView(view)
    try:
        with _uncut(spark):
            rows = spark.sql(f"EXPLAIN EXTENDED SELECT * FROM {view}").collect()
    finally:
        spark.catalog.dropTempView(view)
    text = "\n".join(str(row[0]) for row in rows)
    if _BEGIN not in text:
        raise CannotTrace(
            f"Spark cannot plan the query: {text.removeprefix(_FAILED).strip()}",
            remedy="correct the query; it could not have run either.",
        )
    _, _, plans = text.partition(_BEGIN)[2].partition("\n")  # the first line tells names and types
    return plans.partition(_END)[0]


def _columns(plan: Node, names: list[str]) -> dict[str, tuple[tuple[str, str], ...]]:
    output = Columns().of(plan)
    if not output.whole or len(output.columns) != len(names):
        return {}
    return {
        name: tuple(sorted(column.sources))
        for name, column in zip(names, output.columns, strict=True)
        if column.sources is not None and names.count(name) == 1
    }


@contextmanager
def _uncut(spark: SparkSession) -> Generator[None]:
    previous = {key: spark.conf.get(key) for key in _UNCUT}
    for key, value in _UNCUT.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in previous.items():
            if value is not None:
                spark.conf.set(key, value)
