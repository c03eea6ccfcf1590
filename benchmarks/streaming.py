"""Plain Spark Structured Streaming: everything that is there now, `from_json` or `from_avro`, Iceberg's own sink."""

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.avro.functions import from_avro

from benchmarks.declared import CASES, order_table
from benchmarks.encodings import AVRO, Encoding
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
    decoded = _decoded(source.load(), CASES[case].encoding)
    writer = decoded.writeStream.option("checkpointLocation", checkpoint.as_uri())
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


def _decoded(source: DataFrame, encoding: Encoding) -> DataFrame:
    """The rows of our own tables, coordinates included: same columns, same types."""
    if encoding == "avro":
        # The frame is cut off, and all records are of one schema: Spark knows no registry.
        order = from_avro(f.expr("substring(value, 6)"), AVRO).alias("order")
    else:
        order = f.from_json(f.col("value").cast("string"), spark_schema(order_table("bench.orders"))).alias("order")
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
