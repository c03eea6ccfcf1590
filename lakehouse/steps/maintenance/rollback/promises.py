"""What a rollback must not break: every record once, and everybody who reads on from where they have come."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.table.update import AssertTableUUID

from lakehouse.declarations import Declarations, Stream
from lakehouse.engines.kafka.statement import NO_TABLES, KafkaStatement
from lakehouse.engines.kafka.topics import TopicState
from lakehouse.iceberg.names import identifier_of, table_name
from lakehouse.proofs.lineage.sealed import made
from lakehouse.protocol.catalog import LakeCatalog, TableChange, ref_is
from lakehouse.protocol.errors import SealBroken
from lakehouse.protocol.leases.lease import held_leases, lease_tag
from lakehouse.protocol.seals.history import MAIN, Sealed, ancestry, head_of, last_seal
from lakehouse.steps.cdc.statement import MirrorStatement
from lakehouse.steps.ingest.plan import lost_ranges
from lakehouse.steps.ingest.refusals import IngestRefused, shown
from lakehouse.steps.ingest.topic_identity import require_same_log
from lakehouse.steps.maintenance.expire.consumers import consumers_of, readers_of
from lakehouse.steps.maintenance.rollback.points import RollbackRefused, SealedPoint


class RecordsGone(RollbackRefused):
    """Kafka does not have any more what the tables would have to read again."""


class ReaderCutOff(RollbackRefused):
    """Somebody has read what would be taken back."""


class RowsStay(RollbackRefused):
    """A table that goes not back with the others has rows of what they would read again."""


class SourceGone(RollbackRefused):
    """What the tables would have to read on from is not there any more."""


def require_promises(
    catalog: LakeCatalog,
    declared: Declarations,
    tables: Mapping[str, Table],
    point: SealedPoint,
    read_topic: Callable[[Stream, KafkaStatement], TopicState],
) -> None:
    """Refuse a rollback by which somebody would lose something.

    Raises:
        ReaderCutOff: a mirror, an incremental table or the holder of a lease has read what would be taken back.
        SourceGone: a mirror or an incremental table could not read on from that point.
        RecordsGone: a stream would have to read again what its topic does not have any more.
        RowsStay: a table that has left the stream has rows of what would be read again.
    """
    require_readers(catalog, declared, tables, point)
    require_sources(catalog, declared, point)
    writer = declared.writer(next(iter(point.snapshots)))
    if isinstance(writer, Stream):
        _require_none_stay(catalog, writer, tables, point)
        _require_records(writer, tables, point, read_topic)


def require_readers(
    catalog: LakeCatalog, declared: Declarations, tables: Mapping[str, Table], point: SealedPoint
) -> list[TableChange]:
    """Refuse to take back what somebody has read; returns what must be so until it is taken back.

    Raises:
        ReaderCutOff: a mirror, an incremental table or the holder of a lease has read it.
    """
    readers = {name: readers_of(declared, name) for name in point.snapshots}
    stays = _as_now(catalog, set[str]().union(*readers.values()))  # before they are asked how far they have come
    there = {change.identifier for change in stays}
    for name, declared_readers in readers.items():
        # Who has no table yet takes a lease before it reads, or with what it publishes first.
        absent = [lease_tag(reader) for reader in sorted(declared_readers) if identifier_of(reader) not in there]
        as_loaded = tuple(ref_is(tag, head_of(tables[name], tag)) for tag in absent)
        stays.append(TableChange(identifier_of(name), as_loaded, ()))
    for name, target in point.snapshots.items():
        if cut_off := sorted(_cut_off(catalog, declared, tables[name], target)):
            raise ReaderCutOff(
                f"{name}: {', '.join(cut_off)} has read what would be taken back, and could not read on.",
                remedy="roll these back first, to a run before that; or end their leases (`lakehouse lease list`)",
            )
    return stays


def require_sources(catalog: LakeCatalog, declared: Declarations, point: SealedPoint) -> list[TableChange]:
    """Refuse a point from which the tables could not read on; returns what must be so until they are there.

    Raises:
        SourceGone: their source does not have the snapshot that they had read.
    """
    sources = {source for name in point.snapshots if (source := _source(declared, name))}
    stays = _as_now(catalog, sources)
    for name, sealed in point.seals.items():
        require_source(catalog, declared, name, sealed)
    return stays


def _as_now(catalog: LakeCatalog, names: Iterable[str]) -> list[TableChange]:
    """That `main` of some tables is where it is by now, as far as they exist."""
    return [
        TableChange(
            identifier_of(name),
            (AssertTableUUID(uuid=table.metadata.table_uuid), ref_is(MAIN, head_of(table))),
            (),
        )
        for name in sorted(names)
        if (table := _loaded(catalog, name)) is not None
    ]


def _source(declared: Declarations, name: str) -> str:
    """What a table reads on from in ranges; empty for none."""
    if (mirror := declared.mirrors.get(name)) is not None:
        return mirror.changelog.name
    derived = declared.derived.get(name)
    return derived.inputs[derived.follows] if derived is not None and derived.follows is not None else ""


def stale_derived(
    catalog: LakeCatalog, declared: Declarations, taken_back: Mapping[str, Collection[int]]
) -> tuple[str, ...]:
    """Derived tables that were computed from what would be taken back."""
    stale: list[str] = []
    for name in declared.derived:
        if (table := _loaded(catalog, name)) is None or (head := head_of(table)) is None:
            continue
        seal = made(table, head).seal
        inputs = seal.inputs if seal is not None else {}
        if any(snapshot_id in taken_back.get(source, ()) for source, snapshot_id in inputs.items()):
            stale.append(name)
    return tuple(stale)


def _cut_off(catalog: LakeCatalog, declared: Declarations, table: Table, target: int) -> Iterator[str]:
    """Who has come further than the target, and could read on until now."""
    now = {snapshot.snapshot_id for snapshot in ancestry(table, head_of(table))}
    lost = now - {snapshot.snapshot_id for snapshot in ancestry(table, target)}
    for consumer in consumers_of(catalog, declared, table_name(table)):
        if consumer.read in lost:
            yield f"{consumer.kind} {consumer.name}"
    readers = {consumer.name for consumer in consumers_of(catalog, declared, table_name(table))}
    for lease in held_leases(table):
        if lease.owner not in readers and lease.snapshot_id in lost:
            yield f"lease {lease.owner}"


def require_source(catalog: LakeCatalog, declared: Declarations, name: str, sealed: Sealed) -> None:
    """A mirror or an incremental table reads on from a snapshot that its source must still have.

    Raises:
        SourceGone: it does not.
    """
    mirror = MirrorStatement.from_keys(sealed.seal.statement) if name in declared.mirrors else None
    derived = declared.derived.get(name)
    if mirror is not None:
        source, read = mirror.changelog, mirror.end
    elif derived is not None and derived.follows is not None:
        source = derived.inputs[derived.follows]
        read = sealed.seal.inputs.get(source)
    else:
        return
    table = _loaded(catalog, source)
    if read and (table is None or all(snapshot.snapshot_id != read for snapshot in ancestry(table, head_of(table)))):
        raise SourceGone(
            f"{name}: at run {sealed.seal.run_id} it had read {source} up to snapshot {read}, which is gone.",
            remedy="go to a later run, or make it anew: a mirror by `lakehouse rebuild`, a derived table by "
            "`lakehouse derive --rebuild`",
        )


def _require_records(
    stream: Stream,
    tables: Mapping[str, Table],
    point: SealedPoint,
    read_topic: Callable[[Stream, KafkaStatement], TopicState],
) -> None:
    """What lies between the point and where the stream stands has to be read again, and so has to be in the log."""
    statement = next((s for sealed in point.seals.values() if (s := _statement(sealed)) is not None), None)
    newest = [_newest(table) for table in tables.values()]
    if statement is None or all(s is not None and s.end == statement.end for s in newest):
        return
    topic = read_topic(stream, statement)
    try:
        require_same_log(stream.name, statement, topic)
    except IngestRefused as refused:
        raise RecordsGone(
            f"{refused.message} What would be taken back cannot be read again.",
            remedy="go back no further than to where this log begins, or repair what is there by `lakehouse adopt`",
        ) from refused
    if lost := lost_ranges(statement, topic):
        raise RecordsGone(
            f"Stream {stream.name}: the log of topic {topic.topic} does not have any more what would have to be read "
            f"again: {shown(lost)}.",
            remedy="go back to a later run; to give up rows that are there, take them over with `lakehouse adopt`",
        )


def _require_none_stay(catalog: LakeCatalog, stream: Stream, tables: Mapping[str, Table], point: SealedPoint) -> None:
    """What a table of former times has got since the point would be read again, and land in another one as well."""
    before = next((s.expected for sealed in point.seals.values() if (s := _statement(sealed)) is not None), {})
    moving = {*stream.tables, stream.quarantine_table, *NO_TABLES}
    newest = [statement for table in tables.values() if (statement := _newest(table)) is not None]
    since = {
        name
        for statement in newest
        for name, rows in statement.expected.items()
        if name not in moving and rows != before.get(name, {})
    }
    if stay := sorted(name for name in since if (table := _loaded(catalog, name)) is not None and head_of(table)):
        raise RowsStay(
            f"Stream {stream.name}: {', '.join(stay)} has left the stream and stays as it is, with rows of what would "
            "be read again: they would be there twice.",
            remedy="go back to a later run; or declare the stream with it, roll back, and take it out again",
        )


def _statement(sealed: Sealed) -> KafkaStatement | None:
    return KafkaStatement.from_keys(sealed.seal.statement)


def _newest(table: Table) -> KafkaStatement | None:
    """What the newest seal says; None where it was changed, so that nobody can say where the table stands."""
    try:
        sealed = last_seal(table)
    except SealBroken:
        return None
    return _statement(sealed) if sealed is not None else None


def _loaded(catalog: LakeCatalog, name: str) -> Table | None:
    try:
        return catalog.load_table(identifier_of(name))
    except NoSuchTableError:
        return None
