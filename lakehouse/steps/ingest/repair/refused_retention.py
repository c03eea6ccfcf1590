"""Retention of a quarantine: refused records go that are old enough, and the seals count them as retired.

A record is as old as its Kafka timestamp says, which a producer's clock may have made. So one goes only if it was
refused a day ago as well: a record of 1970 is seen before it goes. One of the future stays.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from pyiceberg.expressions import And, LessThan, NotEqualTo

from lakehouse import seal_keys
from lakehouse.engines.kafka.statement import KafkaStatement, Offsets
from lakehouse.errors import LakehouseError
from lakehouse.formats.evolution.stopped import TABLE_STOPPED
from lakehouse.proofs.audit.coordinates import OFFSET, stream_partitions
from lakehouse.proofs.audit.retirement import KIND_RETIRE
from lakehouse.protocol.cleanup.store_clock import require_age_clock
from lakehouse.protocol.commit import Published, publish
from lakehouse.protocol.seals.base import Base
from lakehouse.protocol.seals.history import seals
from lakehouse.steps.ingest.ingest_step import IngestStep
from lakehouse.steps.ingest.position import stored_position
from lakehouse.steps.ingest.repair.acceptable_records import MOST_RECORDS
from lakehouse.steps.ingest.repair.leaving_rows import delete_rows, require_left
from lakehouse.steps.ingest.repair.refused_records import (
    TIMESTAMP,
    RecordOffsets,
    coordinates_where,
    numbers_of,
    places_of,
    refused_places,
)
from lakehouse.steps.ingest.sealing.seal_tables import seal_all

SEEN = timedelta(days=1)
"""So long a refused record is there at least, whatever its timestamp."""


class CannotLetGo(LakehouseError):
    """Refused records of this stream are kept."""


@dataclass(frozen=True)
class ExpiredRefused:
    """Refused records that are old enough to go, seen from one load of the stream's tables.

    Args:
        places: of the records.
        left: old enough as well, for the next run: one takes only so many.
        previous: what the tables say.
    """

    places: RecordOffsets
    left: int
    previous: KafkaStatement


def find_expired_refused(
    step: IngestStep, bases: Mapping[str, Base], *, now: datetime | None = None
) -> ExpiredRefused | None:
    """Look which refused records are past the stream's `keep_refused`; nothing is written.

    Args:
        step: of the stream.
        bases: all of its tables, loaded together.
        now: from when ages count back.

    Returns:
        What may go, or None where nothing is old enough.

    Raises:
        CannotLetGo: the stream keeps them forever, or is one of changes.
        IngestRefused: the stream's tables do not agree.
    """
    stream, moment = step.stream, now or datetime.now(UTC)
    if stream.changes:
        raise CannotLetGo(
            f"Stream {stream.name} has changes: a refused one tells that a mirror's row may be stale.",
            remedy="let `lakehouse reprocess` take them up, or let the source write these rows again.",
        )
    if stream.keep_refused is None:
        raise CannotLetGo(
            f"Stream {stream.name} keeps refused records forever.", remedy="declare Stream(keep_refused=…) first."
        )
    previous, quarantine = stored_position(stream.name, bases), bases[stream.quarantine_table]
    if previous is None or quarantine.snapshot_id is None:
        return None
    old = _old_places(quarantine, moment - stream.keep_refused, _read_until(quarantine, moment - SEEN))
    chosen = old.first(MOST_RECORDS)
    return ExpiredRefused(chosen, old.count - chosen.count, previous) if chosen.count else None


def expire_refused(step: IngestStep, bases: Mapping[str, Base], expired: ExpiredRefused) -> Published:
    """Remove just what was found, in one publish with what every table of the stream says of it.

    Raises:
        ClockSkew: this machine's clock is ahead of the store's; nothing was removed.
        CommitError: something else was published meanwhile; nothing was removed.
        StagedRowsDiffer: other rows would have gone; nothing was removed.
    """
    quarantine, previous = bases[step.stream.quarantine_table], expired.previous
    require_age_clock(quarantine.table)
    delete_rows(step.catalog, quarantine, step.attempt, expired.places, previous.numbers)
    statement = previous.without_rows(quarantine.name, expired.places.tallies)
    # No offset of a table that others read in ranges has gone.
    keys = {name: {seal_keys.RETIRE_BEFORE: "{}"} for name in bases}
    staged = seal_all(step, bases, statement, keys, kind=KIND_RETIRE)
    require_left(step.catalog, quarantine, staged, expired.places)
    return publish(step.catalog, staged)


def _read_until(quarantine: Base, moment: datetime) -> Offsets:
    """Partition → the offset before which a run had read everything by then; of no partition if no seal is so old."""
    milliseconds = moment.timestamp() * 1000
    for sealed in seals(quarantine.table, quarantine.snapshot_id):
        statement = KafkaStatement.from_keys(sealed.seal.statement)
        if sealed.timestamp_ms <= milliseconds and statement is not None:
            return statement.end
    return {}


def _old_places(quarantine: Base, before: datetime, read_until: Offsets) -> RecordOffsets:
    """Of these records a place each; those stay whose place another row shares, and those of a stopped table."""
    numbers = numbers_of(quarantine)
    where = And(LessThan(TIMESTAMP, before.isoformat()), NotEqualTo("error_class", TABLE_STOPPED))  # pyright: ignore[reportCallIssue]
    rows = coordinates_where(quarantine, where)
    old = places_of(stream_partitions(numbers, rows).tolist(), rows[OFFSET].to_pylist())
    distinct, _ = refused_places(quarantine, None)
    nothing = np.array([], np.int64)
    return RecordOffsets(
        {
            partition: offsets[
                np.isin(offsets, distinct.offsets.get(partition, nothing)) & (offsets < read_until.get(partition, 0))
            ]
            for partition, offsets in old.offsets.items()
        }
    )
