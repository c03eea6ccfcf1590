"""Every declared table as it is at one moment, with the streams and mirrors that write them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from lakehouse.cli.context import Context, catalog_of
from lakehouse.cli.declared import all_declarations
from lakehouse.cli.reports.positions import MirrorState, StreamState, mirror_states, statement_of, stream_states
from lakehouse.declarations import Declarations, Mirror, Stream
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.protocol.errors import SealBroken
from lakehouse.protocol.seals.read_group import Pinned, read_group
from lakehouse.protocol.seals.row_count import row_count


@dataclass
class TableState:
    """One table. All tables are read as they were at one moment.

    Attributes:
        stream: the stream that writes it.
        mirror: the mirror that writes it.
        rows: that a reader sees; None where nobody can say without reading all of them.
        run_id: the Dagster run of the last seal.
        position: Kafka partition → the next offset to read, from the last seal.
        unread: what its stream has not read (offsets), or its mirror not applied (changes); None where nobody can say.
        problem: why the seal cannot be believed.
    """

    table: str
    stream: str | None
    exists: bool
    mirror: str | None = None
    rows: int | None = 0
    snapshot_id: int | None = None
    committed_at: str | None = None
    run_id: str | None = None
    runtime_date: str | None = None
    position: Mapping[str, int] | None = None
    unread: int | None = None
    problem: str | None = None

    @property
    def writer(self) -> str:
        """Who writes it; a table of a user's own is written by its asset."""
        return self.stream or self.mirror or self.table


@dataclass(frozen=True)
class LakeStates:
    """What the tables, streams and mirrors say of themselves.

    Attributes:
        tables: all that are declared, by name.
        streams: how far each is, and what its topic has beyond.
        mirrors: how far each is, and what its changelog has beyond.
        statements: stream → what its newest seal says of Kafka; without those that have not begun.
    """

    tables: list[TableState]
    streams: list[StreamState]
    mirrors: list[MirrorState]
    statements: Mapping[str, KafkaStatement]


def lake_states(context: Context) -> LakeStates:
    """Read all of it: metadata of tables, and offsets of topics where a broker answers."""
    declarations, catalog = all_declarations(context), catalog_of(context)
    existing = [name for name, table in declarations.tables.items() if catalog.table_exists(table.identifier)]
    group = read_group(catalog, existing) if existing else {}
    states = _states(declarations, group)
    streams = stream_states(context, declarations, group)
    mirrors = mirror_states(declarations, catalog)
    unread = {state.stream: state.unread for state in streams} | {state.mirror: state.unmirrored for state in mirrors}
    rows = {state.mirror: state.rows for state in mirrors if not state.problem}
    for state in states:
        state.unread = unread.get(state.writer)
        if state.table in rows:  # by its seal, without a look at delete files
            state.rows = rows[state.table]
        elif state.table in group:
            state.rows = row_count(group[state.table].table, state.snapshot_id)
    statements = {
        stream.name: statement
        for stream in declarations.streams.values()
        if (statement := statement_of(stream, group)) is not None
    }
    return LakeStates(states, streams, mirrors, statements)


def _states(declarations: Declarations, group: dict[str, Pinned]) -> list[TableState]:
    states: list[TableState] = []
    for name in sorted(declarations.tables):
        writer = declarations.writer(name)
        state = TableState(name, writer.name if isinstance(writer, Stream) else None, exists=name in group)
        state.mirror = writer.name if isinstance(writer, Mirror) else None
        if name in group:
            _read(group[name], state)
        states.append(state)
    return states


def _read(pinned: Pinned, state: TableState) -> None:
    snapshot = pinned.table.snapshot_by_id(pinned.snapshot_id) if pinned.snapshot_id is not None else None
    if snapshot is None:
        return
    state.snapshot_id = snapshot.snapshot_id
    state.committed_at = datetime.fromtimestamp(snapshot.timestamp_ms / 1000, UTC).isoformat()
    try:
        sealed = pinned.sealed
    except SealBroken as broken:
        state.problem = broken.message
        return
    if sealed is not None:
        statement = KafkaStatement.from_keys(sealed.seal.statement)
        state.run_id, state.runtime_date = sealed.seal.run_id, sealed.seal.runtime_date
        state.position = statement.numbers.labelled(statement.end) if statement else None
