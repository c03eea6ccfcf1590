"""Ours: a changelog written as an ingest would, and the mirror's own step with every promise on."""

import time
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from benchmarks.mirror.orders import COLUMNS, Order, changes, orders
from lakehouse.declarations import Changelog, Mirror, MirrorTables, apply, plan, spark_schema
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.spark import spark_session
from lakehouse.protocol.catalog import LakeCatalog, open_catalog
from lakehouse.protocol.commit import open_branch, publish, seal_branch
from lakehouse.protocol.commit.frames import stage_frame
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.seal import Seal
from lakehouse.settings import Settings
from lakehouse.steps.cdc.step import MirrorStep, mirror

_SMALLEST = 250_000
"""Rows of a partition: eight of the two million, and a small table is one."""
_OPERATION = "CASE operation WHEN 'c' THEN 'insert' WHEN 'u' THEN 'update' ELSE 'delete' END"


def answer(session: SparkSession, settings: Settings, do: str, namespace: str, **what: Any) -> dict[str, Any]:
    """Build, take in changes, merge."""
    tables, catalog = _tables(namespace, what.get("rows", 0)), open_catalog(settings.catalog)
    began, report = time.monotonic(), None
    match do:
        case "build":
            catalog.create_namespace_if_not_exists(namespace)
            for table in (tables.changelog.table, *tables.tables):
                apply(plan(table, catalog), catalog)
            rows = orders(session.range(what["rows"]).selectExpr("id", "0L AS version"))
            first = rows.selectExpr(
                "'c' AS operation", *COLUMNS, "version", "timestamp_millis(1767225600000) AS changed"
            )
            _log(catalog, tables, _normalised(first), 0)
            _step(settings, catalog, tables, 0)
        case "changes":
            batch = changes(session, what["kind"], what["number"], what["rows"], what["share"])
            _log(catalog, tables, _normalised(batch), what["number"])
        case "merge":
            report = _step(settings, catalog, tables, what["number"])
        case _:
            raise ValueError(do)
    return {"seconds": time.monotonic() - began, "plan": report.statement.plan if report and report.statement else ""}


def _tables(namespace: str, rows: int) -> MirrorTables:
    log = Changelog(
        name=f"{namespace}.changelog",
        topic=namespace,
        row=Order,
        key=("id",),
        description="Orders of the benchmark.",
        owner="benchmark",
    )
    width = max(_SMALLEST, rows // 8)
    ours = Mirror(name=f"{namespace}.mirror", changelog=log, partitioning=(f"truncate({width}, id)",))
    return MirrorTables(ours, log)


def _normalised(batch: DataFrame) -> DataFrame:
    """Changes as a changelog holds them."""
    image = f.struct(*COLUMNS)
    return batch.select(
        f.expr(_OPERATION).alias("operation"),
        f.struct("id").alias("key"),
        f.when(f.col("operation") == "d", image).alias("before"),
        f.when(f.col("operation") != "d", image).alias("after"),
        f.struct(
            f.lit(0).cast("long").alias("epoch"), (f.col("version") + 1).alias("commit"), f.col("id").alias("sequence")
        ).alias("position"),
        f.col("changed").alias("source_time"),
        f.lit("benchmark").alias("_kafka_topic"),
        f.lit(0).alias("_kafka_partition"),
        f.monotonically_increasing_id().alias("_kafka_offset"),
        f.col("changed").alias("_kafka_timestamp"),
    )


def _log(catalog: LakeCatalog, tables: MirrorTables, rows: DataFrame, number: int) -> None:
    name = tables.changelog.name
    base = read_bases(catalog, [name])[name]
    attempt = Attempt(run_id=f"changes-{number}", step="benchmark")
    open_branch(catalog, base, attempt)
    wanted = spark_schema(tables.changelog.table)
    filled = rows.select(
        *(
            (f.col(field.name) if field.name in rows.columns else f.lit(None)).cast(field.dataType).alias(field.name)
            for field in wanted
        )
    )
    stage_frame(filled, base, attempt)
    statement = KafkaStatement("benchmark", "benchmark", "benchmark", {0: number}, {0: number + 1})
    seal = Seal.of(attempt, "ingest", statement=statement.to_keys(), previous=base.sealed.seal if base.sealed else None)
    publish(catalog, [seal_branch(catalog, base, attempt, seal)])


def _step(settings: Settings, catalog: LakeCatalog, tables: MirrorTables, number: int) -> Any:
    return mirror(
        MirrorStep(
            tables=tables,
            catalog=catalog,
            session=lambda: spark_session(settings, app_name="mirror"),
            attempt=Attempt(run_id=f"mirror-{number}", step=f"mirror:{tables.mirror.name}"),
        )
    )
