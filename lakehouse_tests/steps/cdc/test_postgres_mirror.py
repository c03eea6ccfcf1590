"""Mirrors of a real PostgreSQL are what the source is: any history, a killed connector, a column more on the way."""

import os
import random
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from lakehouse.settings import KafkaSettings
from lakehouse_tests.fixtures.debezium import Source, StartDebezium
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.postgres import Postgres
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.steps.cdc.shop import Shop
from lakehouse_tests.steps.cdc.workload import Workload

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

SEED = int(os.environ.get("WORKLOAD_SEED", "587392"))
PREFIX = "mirrored"


def assert_mirrored(shop: Shop, workload: Workload) -> None:
    """Take over what is in Kafka, and compare with the source, row by row."""
    shop.ingest()
    shop.mirror()
    assert shop.quarantined() == []
    for name, table in workload.tables.items():
        assert differences(shop.rows(table), workload.truth()[name], table.key) == {}


def differences(mirrored: list[dict[str, Any]], truth: list[dict[str, Any]], key: Iterable[str]) -> dict[Any, Any]:
    """Key → what is there and what should be, in the columns that the mirror has and that differ."""
    actual, wanted = ({tuple(row[name] for name in key): row for row in rows} for rows in (mirrored, truth))
    assert len(actual) == len(mirrored), "a key is there twice"
    different: dict[Any, Any] = {}
    for row_key in actual.keys() | wanted.keys():
        if row_key not in actual or row_key not in wanted:
            different[row_key] = "missing" if row_key in wanted else "too much"
        elif columns := [name for name, value in actual[row_key].items() if wanted[row_key][name] != value]:
            different[row_key] = {
                name: (str(actual[row_key][name])[:40], str(wanted[row_key][name])[:40]) for name in columns
            }
    return different


@pytest.mark.soak
def test_mirrors_are_what_the_source_is(
    postgres: Postgres,
    broker: KafkaSettings,
    debezium: StartDebezium,
    sql_lake: Lake,
    spark_on: SparkOn,
    tmp_path: Path,
) -> None:
    with Workload(postgres, PREFIX, seed=SEED) as workload:
        workload.run(30)
        connector = debezium(Source(prefix=PREFIX, tables=workload.source_tables, partitions=3))
        workload.run(80)
        connector.wait_until_caught_up()
        shop = Shop(PREFIX, tmp_path / "declarations", broker, sql_lake.settings, spark_on)
        shop.ingest()
        shop.mirror()

        workload.run(80)
        time.sleep(0.7)
        connector.kill()
        shop.ingest()  # whatever has arrived by now
        workload.run(40)
        connector.start()
        connector.wait_until_caught_up()
        assert_mirrored(shop, workload)

        workload.add_column()
        workload.run(60)
        connector.wait_until_caught_up()
        shop.ingest()

        # What came before the column was declared is not lost.
        shop.declare(extra=True)
        workload.run(20)
        connector.wait_until_caught_up()
        assert_mirrored(shop, workload)
        shop.require_folds()
        print(workload.counts)


@pytest.mark.soak
def test_a_row_whose_key_changes_keeps_what_was_not_sent_again(
    postgres: Postgres,
    broker: KafkaSettings,
    debezium: StartDebezium,
    sql_lake: Lake,
    spark_on: SparkOn,
    tmp_path: Path,
) -> None:
    with Workload(postgres, "moved", seed=0) as workload:
        postgres.execute("INSERT INTO moved.orders (id, note) VALUES (1, %s)", [random.Random(0).randbytes(5000).hex()])
        postgres.execute("INSERT INTO moved.lines VALUES (1, 1)")  # a topic is made for its first message
        connector = debezium(Source(prefix="moved", tables=workload.source_tables))
        postgres.execute("UPDATE moved.orders SET id = 2")
        connector.wait_until_caught_up()
        shop = Shop("moved", tmp_path / "declarations", broker, sql_lake.settings, spark_on)
        assert_mirrored(shop, workload)
