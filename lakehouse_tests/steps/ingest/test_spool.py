"""Tables that are beyond the workers' writer are laid out by Spark's own: same rows, same proof."""

from decimal import Decimal

import pandera.pyspark as pa
import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse_tests.steps.ingest.conftest import BY_KIND, MakeLanding, thing

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

COLUMNS = {
    "id": pa.Column(T.LongType(), nullable=False),
    "price": T.DecimalType(9, 2),
    "local": T.TimestampNTZType(),
    "place": T.StructType(
        [T.StructField("lat", T.DoubleType(), False), T.StructField("tags", T.ArrayType(T.StringType()))]
    ),
}


def test_a_sorted_table_equals_one_that_workers_write(landing: MakeLanding) -> None:
    stream = landing(columns=COLUMNS, table={"sort_order": ("id desc",), "partitioning": ("bucket(2, id)",)})
    sent = [
        {
            "id": n,
            "price": f"{n}.25",
            "local": "2013-01-01T00:00:00",
            "place": {"lat": 0.5, "tags": ["x"]} if n % 2 else None,
        }
        for n in range(6)
    ]
    stream.send([*sent, b"broken"])
    report = stream.ingest()
    rows = stream.rows("raw.things", "id", "price", "place", "_kafka_offset")
    assert rows == [
        {
            "id": n,
            "price": Decimal(f"{n}.25"),
            "place": {"lat": 0.5, "tags": ["x"]} if n % 2 else None,
            "_kafka_offset": n,
        }
        for n in range(6)
    ]
    assert report.rows == {"raw.things": 6, "quarantine.things": 1}
    for task in stream.load("raw.things").scan().plan_files():
        assert "/spool/" not in task.file.file_path
    assert stream.holds().read == 7
    stream.send([{"id": 7}])
    stream.ingest()
    assert stream.holds().read == 8


@pytest.mark.parametrize("kind", ["orc", "avro"])
def test_another_file_format(landing: MakeLanding, kind: str) -> None:
    stream = landing(route=BY_KIND)
    changed = {"write.format.default": kind}
    stream.load("raw.a").transaction().set_properties(changed).commit_transaction()
    stream.send([thing(n, kind="ab"[n % 2]) for n in range(6)])
    report = stream.ingest()
    assert report.rows == {"raw.a": 3, "raw.b": 3}
    assert {task.file.file_format.name for task in stream.load("raw.a").scan().plan_files()} == {kind.upper()}
    with stream.spark_on(stream.settings) as spark:
        assert [row.id for row in spark.table("lake.raw.a").orderBy("id").collect()] == [0, 2, 4]
    assert stream.holds().read == 6
