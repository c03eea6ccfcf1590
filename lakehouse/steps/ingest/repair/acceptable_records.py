"""Which records of a quarantine are acceptable by now: judged as in an ingest, and nothing is written."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lakehouse.declarations import ToNamed
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.topics import TopicState
from lakehouse.errors import LakehouseError
from lakehouse.formats.decoded import SchemaId
from lakehouse.formats.frames import RegistrySchemas
from lakehouse.protocol.seals.base import Base
from lakehouse.steps.ingest.ingest_step import IngestStep
from lakehouse.steps.ingest.parquet_files import unsupported
from lakehouse.steps.ingest.plan import IngestPlan
from lakehouse.steps.ingest.position import stored_position
from lakehouse.steps.ingest.received import TOMBSTONE
from lakehouse.steps.ingest.repair.refused_records import (
    RecordOffsets,
    Spans,
    places_of,
    refused_after,
    refused_places,
    refused_records,
)
from lakehouse.steps.ingest.routes.applied_tables import require_applied
from lakehouse.steps.ingest.workers.decoder_selection.schema_lookup import SchemaLookup
from lakehouse.steps.ingest.workers.work import IngestWork, make_task

MOST_RECORDS = 100_000
"""So many are taken at a time: their places are in the seal."""


class NothingToReprocess(LakehouseError):
    """No record that is asked for is in the quarantine."""


class CannotReprocess(LakehouseError):
    """Records cannot be taken up again without a proof losing something."""


@dataclass(frozen=True)
class Reprocess:
    """What reprocessing means, seen from one load of the stream's tables.

    Args:
        places: of the records that are acceptable now.
        tombstones: how many of them were refused as records without a value.
        refused: error class → records that are still refused; they stay.
        left: records that this run does not look at, since it takes only so many at a time.
        shared: rows of the quarantine whose place another one shares; they stay.
        previous: what the tables say.
        reason: why a person does this.
        refused_last: partition → how many of its last records are refused still, see `KafkaStatement`.
    """

    places: RecordOffsets
    tombstones: int
    refused: Mapping[str, int]
    left: int
    shared: int
    previous: KafkaStatement
    reason: str = ""
    refused_last: dict[int, int] | None = None

    @property
    def count(self) -> int:
        """How many records are taken."""
        return self.places.count


def find_reprocess(
    step: IngestStep, bases: Mapping[str, Base], wanted: Spans | None = None, *, reason: str = ""
) -> Reprocess:
    """Look which records of the quarantine are acceptable by now; nothing is written.

    Args:
        step: of the stream.
        bases: all of its tables, loaded together.
        wanted: partition → ranges of offsets; None: every record of the quarantine.
        reason: for the seal.

    Raises:
        NotApplied: a table is not as declared.
        IngestRefused: the stream's tables do not agree.
        NothingToReprocess: the stream has not begun, or the quarantine has none of these records.
    """
    require_applied(step.declarations, bases)
    previous = stored_position(step.stream.name, bases)
    quarantine = bases[step.stream.quarantine_table]
    refused_offsets, shared = refused_places(quarantine, wanted)
    if previous is None or not (refused_offsets.count or shared):
        raise NothingToReprocess(
            f"{quarantine.name} holds none of the records that are asked for.",
            remedy="look at its columns _kafka_partition and _kafka_offset, and at the stream's declaration",
        )
    chosen = refused_offsets.first(MOST_RECORDS)
    sorter = make_task(*work_of(step, bases, previous, chosen)).sorter
    refused: Counter[str] = Counter()
    accepted: list[tuple[int, int, str]] = []
    for batch in refused_records(quarantine, chosen):
        errors = sorter.judge(batch)
        refused.update(error.error_class for error in errors.values())
        rows = zip(*(batch.column(name).to_pylist() for name in ("partition", "offset", "error_class")), strict=True)
        accepted += [record for row, record in enumerate(rows) if row not in errors]
    return Reprocess(
        places=places_of([partition for partition, _, _ in accepted], [offset for _, offset, _ in accepted]),
        tombstones=sum(error_class == TOMBSTONE for _, _, error_class in accepted),
        refused=dict(refused),
        left=refused_offsets.count - chosen.count,
        shared=shared,
        previous=previous,
        reason=reason,
        refused_last=_refused_last(quarantine, previous, accepted),
    )


def find_unmade(step: IngestStep, bases: Mapping[str, Base], wanted: Spans | None = None) -> dict[str, int]:
    """Tables that refused records name, that the stream may make, and that are not there → records.

    Args:
        step: of the stream.
        bases: all of its tables, loaded together.
        wanted: as for `find_reprocess`.
    """
    previous = stored_position(step.stream.name, bases)
    if previous is None or not isinstance(step.stream.route, ToNamed):
        return {}
    quarantine = bases[step.stream.quarantine_table]
    chosen = refused_places(quarantine, wanted)[0].first(MOST_RECORDS)
    sorter = make_task(*work_of(step, bases, previous, chosen)).sorter
    unmade: Counter[str] = Counter()
    for batch in refused_records(quarantine, chosen):
        unmade.update(sorter.unmade(batch))
    return dict(unmade)


def _refused_last(
    quarantine: Base, previous: KafkaStatement, taken: Sequence[tuple[int, int, str]]
) -> dict[int, int] | None:
    """What is refused after the last record that is taken: that one is among the last refused, or else all of them."""
    before = previous.refused_last
    if before is None:
        return None
    newest: dict[int, int] = {}
    for partition, offset, error_class in taken:
        if partition in before and error_class != TOMBSTONE:
            newest[partition] = max(offset, newest.get(partition, offset))
    after = refused_after(quarantine, newest)
    remaining = {
        partition: min(times, after.get(partition, 0)) if partition in newest else times
        for partition, times in before.items()
    }
    return {partition: times for partition, times in remaining.items() if times}


def _plan(previous: KafkaStatement) -> IngestPlan:
    """Of no offset: what is worked on does not come from Kafka."""
    topic = TopicState(previous.topic, previous.cluster_id, previous.topic_id, {}, topics=previous.topics)
    return IngestPlan(topic, dict(previous.end), dict(previous.end), previous)


def work_of(
    step: IngestStep, bases: Mapping[str, Base], previous: KafkaStatement, places: RecordOffsets
) -> tuple[IngestWork, set[str]]:
    """What an ingest of these records would work on, and the tables that are beyond the workers' writer."""
    beyond = {name for name, base in bases.items() if unsupported(base.table.metadata) is not None}
    work = IngestWork(_plan(previous), step.stream, step.declarations, bases, step.attempt)
    return replace(work, schemas=_schemas(step, bases[step.stream.quarantine_table], places)), beyond


def _schemas(step: IngestStep, quarantine: Base, places: RecordOffsets) -> RegistrySchemas | None:
    """The schemas that these records name, of a stream whose records do."""
    lookup = SchemaLookup.of(step.stream, step.kafka)
    if lookup is None:
        return None
    ids: set[SchemaId] = set()
    for batch in refused_records(quarantine, places):
        ids |= lookup.nothing.ids_in(batch.column("value"), batch.column("headers"))
    return lookup.more(lookup.nothing, ids)
