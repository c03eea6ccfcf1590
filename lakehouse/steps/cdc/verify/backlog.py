"""How far a mirror is behind: what of its changelog it lacks, and how long what it has was on its way."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import polars as pl

from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.proofs.audit.coordinates import OFFSET, PARTITION
from lakehouse.steps.cdc.evidence import Evidence
from lakehouse.steps.cdc.replay.piecewise import frames, offsets_between

_TIME = "_kafka_timestamp"


@dataclass(frozen=True)
class Backlog:
    """How far a mirror is behind its changelog.

    Args:
        waiting: changes in the changelog that are not in the mirror.
        oldest: Kafka's time of the oldest of them.
        published: when the mirror's newest seal was committed.
        source_time: newest source time in the mirror.
        arrived: Kafka's time of the newest change in the mirror.
    """

    waiting: int = 0
    oldest: datetime | None = None
    published: datetime | None = None
    source_time: datetime | None = None
    arrived: datetime | None = None

    def age(self, now: datetime) -> timedelta:
        """How old the oldest waiting change is."""
        return max(now - self.oldest, timedelta(0)) if self.oldest else timedelta(0)

    @property
    def from_source(self) -> timedelta | None:
        """From the newest change's time at the source until the mirror was published."""
        return self.published - self.source_time if self.published and self.source_time else None

    @property
    def from_kafka(self) -> timedelta | None:
        """From the newest change's arrival in Kafka until the mirror was published."""
        return self.published - self.arrived if self.published and self.arrived else None


def backlog(evidence: Evidence) -> Backlog:
    """Count what is waiting, by the offsets that the mirror's seal names; only files that may hold some are read."""
    consumed = evidence.newest.statement.kafka_end if evidence.newest else {}
    waiting, oldest = 0, None
    where = offsets_between(consumed, None)
    for piece in frames(evidence.changelog.table, evidence.changelog.snapshot_id, (PARTITION, OFFSET, _TIME), where):
        waiting += piece.height
        first = piece.select(pl.col(_TIME).min()).item()
        oldest = first if oldest is None else min(oldest, first)
    if evidence.newest is None:
        return Backlog(waiting, oldest)
    statement = evidence.newest.statement
    sealed = evidence.changelog.sealed
    arrived = KafkaStatement.from_keys(sealed.seal.statement) if sealed else None
    # Reprocessed changes are older than the rest by their offsets.
    late = arrived.reprocessed_rows(statement.changelog) - statement.reprocessed if arrived else 0
    return Backlog(
        waiting=waiting + max(late, 0),
        oldest=oldest,
        published=_moment(evidence.newest.sealed.timestamp_ms * 1000),
        source_time=_moment(statement.source_time_us),
        arrived=_moment(statement.arrived_ms * 1000),
    )


def _moment(us: int) -> datetime | None:
    """None for 0, and for what no calendar has: a source may send any number."""
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us) if us else None
    except OverflowError:
        return None
