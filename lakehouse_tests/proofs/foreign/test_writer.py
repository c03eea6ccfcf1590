"""Writers are known by the marks in their snapshots."""

from lakehouse.proofs.foreign.writer import commit_of, transform_for, writer_of
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.proofs.foreign.tables import rows, table_of


def test_the_newest_mark_tells_the_writer_and_its_transform(sql_lake: Lake) -> None:
    table = table_of(sql_lake, rows(0, [0]), properties={"kafka.connect.commit-id": "c-1"})
    table.delete("offset = 0")  # by somebody without a mark
    writer = writer_of(table)
    assert writer is not None
    assert "Kafka Connect" in writer.name
    assert "InsertField$Value" in transform_for(writer)
    first = table.metadata.snapshots[0].snapshot_id
    assert commit_of(table, first).startswith(f"snapshot {first} (2")
    assert commit_of(table, first).endswith("UTC, kafka.connect.commit-id c-1)")
    assert "has expired" in commit_of(table, 7)


def test_without_a_mark_every_transform_is_named(sql_lake: Lake) -> None:
    table = table_of(sql_lake, rows(0, [0]))
    assert writer_of(table) is None
    for name in ("Kafka Connect", "Flink", "Spark Structured Streaming"):
        assert name in transform_for(None)
