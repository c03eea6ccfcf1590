"""A stream, changelog and mirror that stand somewhere: sealed by hand, without Spark or a fold."""

import uuid
from datetime import UTC, datetime

import pyarrow as pa

from lakehouse.declarations import MirrorTables, arrow_schema
from lakehouse.engines.kafka import read_topic
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.orchestration.resources.staging import stage_arrow
from lakehouse.protocol.commit import publish, seal_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.cdc.position import ChangePosition
from lakehouse.steps.cdc.statement import Applied, MirrorStatement
from lakehouse_tests.orchestration.assets.house import House


def land_changes(house: House, tables: MirrorTables, number: int) -> int:
    """Add so many changes to the changelog, sealed as an ingest does; returns the seal's snapshot."""
    lake, log = house.lake(), tables.changelog
    lake.ensure([log.name])
    base = read_bases(lake.catalog, [log.name])[log.name]
    attempt = Attempt(str(uuid.uuid4()), "ingest:nests")
    place = {"_kafka_topic": log.topic, "_kafka_partition": 0, "_kafka_timestamp": datetime.now(UTC)}
    rows = [{"operation": "control", "_kafka_offset": offset, **place} for offset in range(number)]
    if rows:
        data = pa.Table.from_pylist(rows, schema=arrow_schema(lake.declared(log.name)))
        stage_arrow(lake.catalog, data, base, attempt, replacing=False)
    statement = KafkaStatement("cluster", log.topic, "topic", start={0: 0}, end={0: number})
    return seal(house, {log.name: statement.to_keys()}, attempt)[log.name]


def read_birds(house: House, end: int, *, topic_id: str | None = None) -> None:
    """Say that the stream of birds has read each partition up to an offset, of this topic or one of another id."""
    lake, topic = house.lake(), read_topic(house.kafka, house.topic)
    stream = lake.declarations.streams["birds"]
    names = [*stream.tables, stream.quarantine_table]
    lake.ensure(names)
    position = dict.fromkeys(topic.partitions, end)
    statement = KafkaStatement(topic.cluster_id, topic.topic, topic_id or topic.topic_id, start=position, end=position)
    seal(house, dict.fromkeys(names, statement.to_keys()), Attempt(str(uuid.uuid4()), "ingest:birds"))


def mirror_changes(house: House, tables: MirrorTables, end: int) -> None:
    """Say that a mirror has applied its changelog up to a snapshot."""
    lake = house.lake()
    names = [table.name for table in tables.tables]
    lake.ensure(names)
    log = lake.catalog.load_table(tuple(tables.changelog.name.split(".")))
    statement = MirrorStatement(
        changelog=tables.changelog.name,
        changelog_uuid=str(log.metadata.table_uuid),
        build="first",
        start=None,
        end=end,
        applied=Applied(inserted=3),
        position=ChangePosition(0, 12, 3),
        source_time_us=1_700_000_000_000_000,
        arrived_ms=int((datetime.now(UTC).timestamp() - 90) * 1000),
    )
    seal(house, dict.fromkeys(names, statement.to_keys()), Attempt(str(uuid.uuid4()), "mirror:nests"))


def seal(house: House, statements: dict[str, dict[str, str]], attempt: Attempt) -> dict[str, int]:
    """Seal and publish what is staged."""
    catalog = house.lake().catalog
    staged = [
        seal_branch(
            catalog,
            base,
            attempt,
            Seal.of(attempt, "test", statement=statements[name], previous=base.sealed.seal if base.sealed else None),
        )
        for name, base in read_bases(catalog, list(statements)).items()
    ]
    return publish(catalog, staged).snapshots
