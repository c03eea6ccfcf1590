"""What the tables of a stream hold, read with plain PyIceberg: it imports nothing of the product."""

from collections import Counter
from collections.abc import Iterator, Mapping

from pyiceberg.catalog import load_catalog
from pyiceberg.table import Table

Record = tuple[str, int, int]
"""Topic, partition, offset."""
Position = Mapping[int, int]
"""Partition → the first offset that is not there."""
_COORDINATES = ("_kafka_topic", "_kafka_partition", "_kafka_offset")


class OffsetsOracle:
    """Looks at the tables of a catalog on SQLite."""

    def __init__(self, uri: str, warehouse: str) -> None:
        self._catalog = load_catalog("lake", type="sql", uri=uri, warehouse=warehouse)

    def close(self) -> None:
        """Give back the connections."""
        self._catalog.close()

    def load(self, table: str) -> Table:
        """A table, afresh."""
        return self._catalog.load_table(table)

    def records(self, table: str, snapshot_id: int | None = None) -> Counter[Record]:
        """Which records a snapshot holds, of `main` if none is named, and how often each.

        Raises:
            AssertionError: a row has not the values of its record.
        """
        loaded = self.load(table)
        if snapshot_id is None and loaded.metadata.current_snapshot_id is None:
            return Counter()
        rows = loaded.scan(snapshot_id=snapshot_id).to_arrow().to_pylist()
        for row in rows:
            partition, offset = row["_kafka_partition"], row["_kafka_offset"]
            assert (row["id"], row["text"]) == (offset, f"{partition}/{offset}"), f"{table} holds {row}"
        return Counter(tuple(row[name] for name in _COORDINATES) for row in rows)

    def head(self, table: str) -> int | None:
        """Snapshot id of `main`."""
        return self.load(table).metadata.current_snapshot_id

    def snapshot_ids(self, table: str) -> set[int]:
        """Of all snapshots that the metadata name."""
        return {snapshot.snapshot_id for snapshot in self.load(table).metadata.snapshots}

    def branches(self, table: str) -> dict[str, int]:
        """Branch or tag → snapshot id."""
        return {name: ref.snapshot_id for name, ref in self.load(table).metadata.refs.items()}

    def ancestry(self, table: str) -> Iterator[int]:
        """Snapshot ids from the head of `main` back, as far as the metadata name them."""
        metadata = self.load(table).metadata
        parents = {snapshot.snapshot_id: snapshot.parent_snapshot_id for snapshot in metadata.snapshots}
        current = metadata.current_snapshot_id
        while current in parents:
            yield current
            current = parents[current]

    def updated_ms(self, table: str) -> int:
        """When the table was last written, by its metadata."""
        return self.load(table).metadata.last_updated_ms
