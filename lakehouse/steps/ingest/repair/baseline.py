"""The statement of a baseline: what the rows of every table add up to, retired rows among them."""

from collections.abc import Mapping

from lakehouse.engines.kafka.statement import NO_TABLES, Counts, KafkaStatement, Tallies
from lakehouse.engines.kafka.tally import Tally, added
from lakehouse.engines.kafka.topics import TopicState
from lakehouse.proofs.audit.retirement import retired_of
from lakehouse.protocol.seals.base import Base
from lakehouse.steps.ingest.repair.go_on import Rows


def retired_sums(bases: Mapping[str, Base], previous: KafkaStatement | None) -> Tallies:
    """What was retired of each table, by its own seals (it may have been rolled back), or else its siblings'.

    Of tables that are in the stream no more, their siblings' seals say it.
    """
    retired = {name: dict(tallies) for name, tallies in (previous.retired if previous else {}).items()}
    for name, base in bases.items():
        if base.sealed is not None:
            retired[name] = retired_of(base.table, base.snapshot_id)
    return {name: by_partition for name, by_partition in retired.items() if by_partition}


def baseline(
    rows: Rows,
    previous: KafkaStatement | None,
    retired: Tallies,
    topic: TopicState,
    position: dict[int, int],
    quarantine: str,
) -> KafkaStatement:
    """What every table of the stream will say.

    Args:
        rows: table → partition → the offsets of its rows.
        previous: what the tables said; None where nothing was sealed.
        retired: table → what was retired of it.
        topic: what the broker says of the stream's topics.
        position: where the stream goes on.
        quarantine: which of the tables holds what was refused.
    """
    stored = {
        table: {partition: Tally.of(offsets) for partition, offsets in by_partition.items()}
        for table, by_partition in rows.items()
    }
    # Rows of tables that are in the stream no more, and what was lost, were not looked at.
    others = {table: dict(sums) for table, sums in (previous.totals if previous else {}).items() if table not in stored}
    totals = {**added(stored, {table: sums for table, sums in retired.items() if table in stored}), **others}
    row_counts = {
        table: sum(tally.count for tally in sums.values()) for table, sums in totals.items() if table not in NO_TABLES
    }
    before = previous.total_counts if previous else Counts()
    return KafkaStatement(
        cluster_id=topic.cluster_id,
        topic=topic.topic,
        topic_id=topic.topic_id,
        topics=topic.topics,
        leader_epochs=topic.leader_epochs,
        start=position,
        end=position,
        totals={table: by_partition for table, by_partition in totals.items() if by_partition},
        total_counts=Counts(
            read=sum(row_counts.values()) + before.filtered,
            written=sum(row_counts.values()) - row_counts.get(quarantine, 0),
            quarantined=row_counts.get(quarantine, 0),
            tombstones=min(before.tombstones, row_counts.get(quarantine, 0)),
            filtered=before.filtered,
            lost=before.lost,
            bytes=before.bytes,
        ),
        retired=retired,
        losses=previous.losses if previous else (),
        reprocessed=previous.reprocessed if previous else {},
    )
