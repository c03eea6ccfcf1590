"""Spark arranges a table's rows in other files: the promise stays proven, by reading, since others wrote the files."""

import pytest

from lakehouse.protocol.catalog import open_catalog
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.proofs.audit.simulated import A, SimulatedStream, to_a

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_a_compacted_table_is_proven_by_a_scan(sql_lake: Lake, spark_on: SparkOn) -> None:
    stream = SimulatedStream(open_catalog(sql_lake.settings))
    for _ in range(3):
        stream.ingest({0: 10, 1: 10}, to_a)
    assert {r.decided_by for r in stream.audit().ranges} == {"manifests"}
    with spark_on(sql_lake.settings) as spark:
        spark.sql(
            "CALL lake.system.rewrite_data_files(table => 'raw.a', options => map('rewrite-all', 'true'))"
        ).collect()
        assert len(stream.live_files(A)) == 1
        proof = stream.audit()
        assert proof.holds, proof.findings
        assert {r.decided_by for r in proof.ranges} == {"scan"}

        stream.ingest({0: 10}, to_a)
        proof = stream.audit()
        assert proof.holds, proof.findings
        assert {r.partition: r.decided_by for r in proof.ranges} == {0: "manifests and scan", 1: "scan"}

        spark.sql("DELETE FROM lake.raw.a WHERE _kafka_partition = 0 AND _kafka_offset = 15").collect()
    (finding,) = [f for f in stream.audit().findings if f.kind == "rows_differ"]
    assert (finding.table, finding.partition, finding.offsets) == (A, 0, "[10, 20)")
    assert "Missing: 15." in finding.message
