"""Set tables that one step writes to a point that they share, in one transaction, if nobody loses anything by it.

Only `main` moves. No file goes, so a rollback can be taken back by going forward until maintenance expires what was
left. A run that is under way loses its race by the fence, as with any other publish, and so does a reader's: see
`lakehouse.protocol.leases.source`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import AssertTableUUID
from pyiceberg.typedef import Identifier

from lakehouse.declarations import Declarations, Mirror, Release, Stream
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.topics import TopicState
from lakehouse.iceberg.names import identifier_of
from lakehouse.protocol.catalog import LakeCatalog, TableChange, ref_is, set_branch
from lakehouse.protocol.seals.history import MAIN, ancestry, head_of, is_rewrite
from lakehouse.protocol.seals.load_group import load_together
from lakehouse.retry import OTHERS_FIRST, pause
from lakehouse.steps.maintenance.rollback.points import Direction, RollbackRefused, SealedPoint, points
from lakehouse.steps.maintenance.rollback.promises import (
    require_promises,
    require_readers,
    require_sources,
    stale_derived,
)

_TRIES = 5
ReadTopic = Callable[[Stream, KafkaStatement], TopicState]


class PointUnknown(RollbackRefused):
    """No run of this id has sealed all of the tables."""


class PointNotNamed(RollbackRefused):
    """The tables stand together, so nobody can say how far back is meant."""


class MainMovedMeanwhile(RollbackRefused):
    """Somebody published while this was looked at."""


@dataclass(frozen=True)
class Move:
    """What would be moved.

    Args:
        direction: back or forward.
        tables: by name, as they were loaded.
        point: where to.
        stale: derived tables that have read what would be taken back.
    """

    direction: Direction
    tables: Mapping[str, Table]
    point: SealedPoint
    stale: Sequence[str] = ()

    @property
    def changed(self) -> dict[str, tuple[int, int]]:
        """Table → its snapshot before and after, of those that move."""
        heads = {name: head_of(self.tables[name]) or 0 for name in self.point.snapshots}
        return {name: (heads[name], to) for name, to in self.point.snapshots.items() if heads[name] != to}


def tables_of_step(declared: Declarations, names: Sequence[str]) -> tuple[str, ...]:
    """All tables that are written together with some, by name; also of a stream, by its name.

    Raises:
        RollbackRefused: they are no tables of one step, or have a way back of their own.
    """
    groups = {_group(declared, name) for name in names}
    if len(groups) != 1:
        raise RollbackRefused(
            f"{', '.join(names)} are not written by one step, so they have no seal in common.",
            remedy="name tables of one stream, of one mirror, or one other table",
        )
    return groups.pop()


def _group(declared: Declarations, name: str) -> tuple[str, ...]:
    writer = declared.streams.get(name) or declared.writer(name)
    if writer is None and name not in declared.tables:
        raise RollbackRefused(
            f"There is no table and no stream {name}.", remedy="name one that `lakehouse tables` shows, or its stream"
        )
    if isinstance(writer, Stream | Mirror):
        return (*writer.tables, writer.quarantine_table)
    return (name,)


def find_move(
    catalog: LakeCatalog,
    declared: Declarations,
    names: Sequence[str],
    direction: Direction,
    *,
    run: str = "",
    read_topic: ReadTopic,
) -> Move:
    """Look where tables would be set to, and that nobody loses anything by it.

    Args:
        catalog: where they live.
        declared: who reads them.
        names: tables that one step writes, or a stream; its other tables go with them.
        direction: back or forward.
        run: whose seals to go to, by the id of the run or its beginning; empty for the newest that all tables share.
        read_topic: asks the broker what a topic holds; only of a stream whose position goes back.

    Raises:
        RollbackRefused: one of its kinds.
    """
    group = tables_of_step(declared, names)
    if run and isinstance(pointed := declared.writer(group[0]), Release):
        raise RollbackRefused(
            f"{group[0]} is the pointer of release {pointed.name}.",
            remedy=f"`lakehouse release rollback {pointed.name} <id> --why … --yes` moves it, and says so",
        )
    tables = load_together(catalog, [name for name in group if catalog.table_exists(identifier_of(name))])
    known = points(tables, direction)
    if not known:
        raise PointUnknown(
            f"{', '.join(group)} have no seal in common {'below' if direction == 'rollback' else 'ahead of'} `main`.",
            remedy="the snapshots have expired, or nobody sealed them; see `lakehouse log`, and repair them by "
            "`lakehouse adopt`, `rebuild` or `derive --rebuild`",
        )
    move = Move(direction, tables, _chosen(tables, known, direction, run))
    if direction == "rollback":
        require_promises(catalog, declared, tables, move.point, read_topic)
        taken_back = {
            name: {snapshot.snapshot_id for snapshot in _taken_back(tables[name], to)}
            for name, (_, to) in move.changed.items()
        }
        return replace(move, stale=stale_derived(catalog, declared, taken_back))
    require_sources(catalog, declared, move.point)
    return move


def carry_out(catalog: LakeCatalog, declared: Declarations, move: Move) -> None:
    """Move `main` of all tables in one transaction, while all who read them stand where they were asked.

    Raises:
        MainMovedMeanwhile: somebody published since it was looked at; nothing was changed.
        RollbackRefused: one who reads them, or what they read, has gone on since, so that something would be lost.
    """
    last: Exception | None = None
    for _ in range(_TRIES):
        try:
            tables = load_together(catalog, list(move.tables))
            if any(head_of(tables[name]) != head_of(move.tables[name]) for name in move.point.snapshots):
                break
            others = require_sources(catalog, declared, move.point)
            if move.direction == "rollback":
                others += require_readers(catalog, declared, tables, move.point)
            catalog.commit_tables(_together([*_changes(move), *others]))
        except (CommitFailedException, NoSuchTableError) as error:
            last = error
            pause(OTHERS_FIRST)
        else:
            return
    who = f"them, or to who reads them, meanwhile ({last})" if last else "them meanwhile"
    raise MainMovedMeanwhile(
        f"{', '.join(move.point.snapshots)}: somebody wrote to {who}; nothing was changed.",
        remedy="look again: say the same once more",
    ) from last


def _changes(move: Move) -> Iterator[TableChange]:
    for name, to in move.point.snapshots.items():
        table = move.tables[name]
        # One that stays is part of it, too: the tables must be as they were together.
        updates = (set_branch(MAIN, to, like=table.metadata.refs.get(MAIN)),) if name in move.changed else ()
        requirements = (AssertTableUUID(uuid=table.metadata.table_uuid), ref_is(MAIN, head_of(table)))
        yield TableChange(identifier_of(name), requirements, updates)


def _together(changes: Iterable[TableChange]) -> list[TableChange]:
    """One change of each table, with all that is required of it."""
    merged: dict[Identifier, TableChange] = {}
    for change in changes:
        known = merged.setdefault(change.identifier, TableChange(change.identifier, (), ()))
        more = tuple(requirement for requirement in change.requirements if requirement not in known.requirements)
        merged[change.identifier] = replace(
            known, requirements=known.requirements + more, updates=known.updates + change.updates
        )
    return list(merged.values())


def _chosen(tables: Mapping[str, Table], known: Sequence[SealedPoint], direction: Direction, run: str) -> SealedPoint:
    if run:
        matching = [point for point in known if point.run_id.startswith(run)]
        if len({point.run_id for point in matching}) != 1:
            raise PointUnknown(
                f"{'Several runs' if matching else 'No run'} {run}… sealed {', '.join(tables)} together.",
                remedy=f"name one of {_shown(known)}",
            )
        return matching[0]
    newest = known[0]
    if direction == "rollback" and not any(_differs(tables[name], to) for name, to in newest.snapshots.items()):
        together = f"{', '.join(tables)} stand together at run {newest.run_id}, "
        if not known[1:]:
            raise PointNotNamed(
                f"{together}and nothing before it is there to go back to: it was the first, or all before has expired.",
                remedy="restore the tables, or the files that are lost, from a backup; see `lakehouse log --table "
                f"{next(iter(tables))}`",
            )
        raise PointNotNamed(
            f"{together}so how far back is for you to say.", remedy=f"say --to with one of {_shown(known[1:])}"
        )
    return newest


def _differs(table: Table, target: int) -> bool:
    """Whether anything but rewrites lies between a target and `main`."""
    return any(not is_rewrite(snapshot) for snapshot in _taken_back(table, target))


def _taken_back(table: Table, target: int) -> list[Snapshot]:
    """The snapshots that `main` would lose."""
    kept = {snapshot.snapshot_id for snapshot in ancestry(table, target)}
    return [snapshot for snapshot in ancestry(table, head_of(table)) if snapshot.snapshot_id not in kept]


def _shown(known: Sequence[SealedPoint]) -> str:
    return ", ".join(dict.fromkeys(f"{point.run_id} ({point.kind})" for point in known[:10]))
