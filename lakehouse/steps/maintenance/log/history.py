"""What the rows of earlier maintenance say: which decisions stand, and what died half-way."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import takewhile
from typing import Any

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table as IcebergTable

from lakehouse.declarations import MAINTENANCE_LOG, ORPHANS
from lakehouse.declarations.own_tables.action_effect import ActionEffect
from lakehouse.declarations.own_tables.decision_row import DecisionRow
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.history import ancestry, attempt_of, head_of
from lakehouse.steps.maintenance.log.record import finished_row
from lakehouse.steps.maintenance.measure.history import moment
from lakehouse.steps.maintenance.model.action import Action, ActionOutcome, Operation
from lakehouse.steps.maintenance.model.state import Depth, Partition, Remembered
from lakehouse.steps.maintenance.plan.decide import LONGEST_VALID

REMEMBERED_FOR = timedelta(days=30)
_LOOKED = ("done", "dry_run", "nothing")
_TAKE_AWAY = (Operation.BRANCHES, Operation.LEASES, Operation.EXPIRE, Operation.ORPHANS)  # without a publish


@dataclass(frozen=True)
class History:
    """What is remembered of the last weeks.

    Attributes:
        rows: of `lakehouse.maintenance`, newest first: what runs have decided and done, and what the sensor has decided
            as lately as it can still stand.
        orphans: UUID of a table → files that the last look found and nothing has become of.
    """

    rows: tuple[DecisionRow, ...] = ()
    orphans: Mapping[str, int] | None = None

    @classmethod
    def read(cls, catalog: LakeCatalog, now: datetime) -> "History":
        """Read them; none where nothing was ever decided."""
        since, standing = now - REMEMBERED_FOR, now - LONGEST_VALID
        of_runs = "phase = 'finished' or attempt is not null"
        rows = _decisions(catalog, f"at >= '{since.isoformat()}' and ({of_runs} or at >= '{standing.isoformat()}')")
        done = {row.attempt for row in rows if row.finished and row.result in _LOOKED}
        return cls(tuple(rows), _candidates(_orphans(catalog, since), done))

    def decision(self, table: str) -> DecisionRow | None:
        """The newest decision about a table, by name, if it may still stand."""
        return self._newest.get(table)

    def shown(self, uuid: str, digest: str, operation: Operation) -> DecisionRow | None:
        """The decision to do something, by the digest of the state that it was decided from."""
        return next(
            (
                row
                for row in self._rows_of(uuid)
                if not row.finished
                and row.operation == operation.value
                and row.result == "chosen"
                and row.state_digest == digest
            ),
            None,
        )

    def done_since(self, uuid: str, operation: Operation, since: datetime) -> bool:
        """Whether an operation was done after a moment."""
        return any(row.result == "done" and row.timestamp > since for row in self._ended(uuid, operation))

    def unfinished(self, uuid: str) -> tuple[DecisionRow, ...]:
        """Decisions that a run began to carry out and never said what came of it, oldest first."""
        finished = {_which(row) for row in self._rows_of(uuid) if row.finished}
        begun = [row for row in self._rows_of(uuid) if not row.finished and row.attempt and row.result == "chosen"]
        return tuple(row for row in reversed(begun) if _which(row) not in finished)

    def failures(self, uuid: str, operation: Operation) -> int:
        """How often in a row an operation came to nothing, until now."""
        results = (row.result for row in self._ended(uuid, operation))
        return len(list(takewhile(lambda result: result not in ("done", "dry_run"), results)))

    def last(self, uuid: str, operation: Operation) -> DecisionRow | None:
        """The newest row that tells what came of an operation."""
        return next(self._ended(uuid, operation), None)

    def _ended(self, uuid: str, operation: Operation) -> Iterator[DecisionRow]:
        """What came of an operation, newest first, wherever it was begun."""
        for row in self._rows_of(uuid):
            if row.finished and row.operation == operation.value and row.result != "withheld":
                yield row

    def remembered(self, uuid: str) -> Remembered:
        """What no metadata says."""
        looks = (
            row.timestamp
            for row in self._rows_of(uuid)
            if row.finished and row.operation == "orphans" and row.result in _LOOKED
        )
        done: dict[str, datetime] = {}
        for row in self._rows_of(uuid):
            if row.finished and row.operation == "deduplicate" and row.result == "done":
                until = row.effect.counted_until_ms
                if until is not None:
                    timestamp = moment(until)
                    done |= {key: max(timestamp, done.get(key, timestamp)) for key in row.partition_keys}
        return Remembered(
            counted_at=_counted_at(row for row in self._rows_of(uuid) if not row.finished),
            orphans_looked_at=next(looks, None),
            orphan_candidates=(self.orphans or {}).get(uuid, 0),
            deduplicated=dict(sorted(done.items())),
        )

    @cached_property
    def _newest(self) -> Mapping[str, DecisionRow]:
        return {row.table_name: row for row in reversed(self.rows) if not row.finished}

    @cached_property
    def _by_table(self) -> Mapping[str, list[DecisionRow]]:
        by_table: dict[str, list[DecisionRow]] = {}
        for row in self.rows:
            by_table.setdefault(row.table_uuid, []).append(row)
        return by_table

    def _rows_of(self, uuid: str) -> Sequence[DecisionRow]:
        return self._by_table.get(uuid, ())


def rows_about(catalog: LakeCatalog, uuid: str, now: datetime) -> list[DecisionRow]:
    """All rows of the last weeks about one table, newest first."""
    return _decisions(catalog, f"table_uuid = '{uuid}' and at >= '{(now - REMEMBERED_FOR).isoformat()}'")


def completed(decided: DecisionRow, table: IcebergTable, timestamp: datetime) -> DecisionRow:
    """What came of a decision whose run died: what it has published is in `main`, by its attempt's marks."""
    landed = next(
        (snapshot for snapshot in ancestry(table, head_of(table)) if attempt_of(snapshot) == decided.attempt), None
    )
    action = Action(
        operation=Operation(decided.operation),
        partitions=tuple(
            Partition(key=key, name=name) for key, name in zip(decided.partition_keys, decided.partitions, strict=False)
        ),
    )
    if landed is not None:
        message = "its run died after it was published, and before it could say so"
        outcome = ActionOutcome(action=action, result="done", snapshot_id=landed.snapshot_id, message=message)
    elif action.operation in _TAKE_AWAY:
        message = "its run died: what it had taken away by then is gone, and what is still due is decided anew"
        outcome = ActionOutcome(action=action, result="failed", message=message, effect=ActionEffect(died=True))
    else:
        message = "its run died: nothing was published, and what is due is decided anew"
        outcome = ActionOutcome(action=action, result="failed", message=message)
    return finished_row(decided, outcome, timestamp)


def _counted_at(decided: Iterable[DecisionRow]) -> datetime | None:
    """When the files of each partition were last counted, if nothing has been due or waiting since."""
    for row in decided:
        if row.result != "nothing":
            return None
        if row.depth != Depth.TOTALS.name.lower():
            return row.timestamp
    return None


def _which(row: DecisionRow) -> tuple[str | None, str]:
    return row.attempt, row.operation


@dataclass(frozen=True)
class _OrphanEvent:
    """What of a row of `lakehouse.orphans` is asked here."""

    table_uuid: str
    path: str
    timestamp: datetime
    event: str
    look_id: str


def _candidates(rows: Sequence[_OrphanEvent], done: Collection[str | None]) -> Mapping[str, int]:
    """How many files wait for their second look, by table; or are still there, as the look that took them has died."""
    newest: dict[tuple[str, str], _OrphanEvent] = {}
    for row in sorted(rows, key=lambda row: row.timestamp):
        newest[row.table_uuid, row.path] = row
    counts: dict[str, int] = {}
    for (uuid, _), row in newest.items():
        if row.event == "candidate" or (row.event == "deleted" and row.look_id not in done):
            counts[uuid] = counts.get(uuid, 0) + 1
    return counts


def _decisions(catalog: LakeCatalog, row_filter: str) -> list[DecisionRow]:
    columns = _rows(catalog, MAINTENANCE_LOG.name, row_filter, ("*",))
    rows = [DecisionRow.from_columns(row) for row in columns]
    return sorted(rows, key=lambda row: (row.timestamp, row.row_id), reverse=True)


def _orphans(catalog: LakeCatalog, since: datetime) -> list[_OrphanEvent]:
    columns = ("table_uuid", "path", "at", "event", "look_id")
    rows = _rows(catalog, ORPHANS.name, f"at >= '{since.isoformat()}'", columns)
    return [_OrphanEvent(*(row[name] for name in columns)) for row in rows]


def _rows(catalog: LakeCatalog, name: str, row_filter: str, columns: tuple[str, ...]) -> list[Mapping[str, Any]]:
    try:
        base = read_bases(catalog, [name])[name]
    except NoSuchTableError:
        return []
    if base.snapshot_id is None:
        return []
    scan = base.table.scan(row_filter=row_filter, selected_fields=columns, snapshot_id=base.snapshot_id)
    return list(scan.to_arrow().to_pylist())
