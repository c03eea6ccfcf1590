"""Plain Spark Structured Streaming: everything that is there now, `from_json`, Iceberg's own sink."""

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from benchmarks.declared import CASES, order_table
from lakehouse.declarations import spark_schema
from lakehouse.engines.kafka import spark_options
from lakehouse.settings import Settings


def answer(
    session: SparkSession, settings: Settings, case: str, namespace: str, topic: str, commit_records: int
) -> None:
    """One query over the whole topic, with a micro-batch for so many records."""
    source = session.readStream.format("kafka").options(
        **spark_options(settings.kafka),
        subscribe=topic,
        startingOffsets="earliest",
        maxOffsetsPerTrigger=str(commit_records),
    )
    checkpoint = settings.state.root / "checkpoints" / namespace
    writer = _decoded(source.load()).writeStream.option("checkpointLocation", checkpoint.as_uri())
    tables = CASES[case].tables(namespace)
    if len(tables) == 1:
        # The columns are required in the table and nullable in the frame: the writer refuses a null when it sees one.
        query = (
            writer.trigger(availableNow=True)
            .format("iceberg")
            .outputMode("append")
            .option("check-nullability", "false")
            .toTable(f"lake.{tables['']}")
        )
    else:
        query = writer.trigger(availableNow=True).foreachBatch(_routed(tables)).start()
    query.awaitTermination()


def _decoded(source: DataFrame) -> DataFrame:
    """The rows of our own tables, coordinates included: same columns, same types."""
    schema = spark_schema(order_table("bench.orders"))
    order = f.from_json(f.col("value").cast("string"), schema).alias("order")
    coordinates = [f.col(name).alias(f"_kafka_{name}") for name in ("topic", "partition", "offset", "timestamp")]
    return source.select(order, *coordinates).select("order.*", f.expr("* EXCEPT (order)"))


def _routed(tables: dict[str, str]) -> Callable[[DataFrame, int], None]:
    def write(batch: DataFrame, _: int) -> None:
        batch.persist()
        for kind, table in tables.items():
            rows = batch.where(f.col("kind") == kind)
            rows.writeTo(f"lake.{table}").option("check-nullability", "false").append()
        batch.unpersist()

    return write
