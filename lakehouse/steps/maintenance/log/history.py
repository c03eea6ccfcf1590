"""What the rows of earlier maintenance say: which decisions stand, and what died half-way."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import takewhile

import msgspec
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table as IcebergTable

from lakehouse.declarations import MAINTENANCE_LOG, ORPHANS
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.history import ancestry, attempt_of, head_of
from lakehouse.steps.maintenance.log.record import DecisionFacts, Row, finished_row
from lakehouse.steps.maintenance.measure.history import moment
from lakehouse.steps.maintenance.model.action import Action, ActionOutcome, Operation
from lakehouse.steps.maintenance.model.state import Depth, Partition, Remembered
from lakehouse.steps.maintenance.plan.decide import LONGEST_VALID
from lakehouse.steps.maintenance.plan.due_deduplicate import COUNTED_UNTIL

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

    rows: tuple[Row, ...] = ()
    orphans: Mapping[str, int] | None = None

    @classmethod
    def read(cls, catalog: LakeCatalog, now: datetime) -> "History":
        """Read them; none where nothing was ever decided."""
        since, standing = now - REMEMBERED_FOR, now - LONGEST_VALID
        of_runs = "phase = 'finished' or attempt is not null"
        rows = _decisions(catalog, f"at >= '{since.isoformat()}' and ({of_runs} or at >= '{standing.isoformat()}')")
        done = {row["attempt"] for row in rows if row["phase"] == "finished" and row["result"] in _LOOKED}
        return cls(tuple(rows), _candidates(_orphans(catalog, since), done))

    def decision(self, table: str) -> Row | None:
        """The newest decision about a table, by name, if it may still stand."""
        return self._newest.get(table)

    def shown(self, uuid: str, digest: str, operation: Operation) -> Row | None:
        """The decision to do something, by the digest of the state that it was decided from."""
        return next(
            (
                row
                for row in self._rows_of(uuid)
                if row["phase"] == "decided"
                and row["operation"] == operation.value
                and row["result"] == "chosen"
                and msgspec.json.decode(row["state"], type=_Measured).digest == digest
            ),
            None,
        )

    def done_since(self, uuid: str, operation: Operation, since: datetime) -> bool:
        """Whether an operation was done after a moment."""
        return any(row["result"] == "done" and row["at"] > since for row in self._ended(uuid, operation))

    def unfinished(self, uuid: str) -> tuple[Row, ...]:
        """Decisions that a run began to carry out and never said what came of it, oldest first."""
        finished = {_which(row) for row in self._rows_of(uuid) if row["phase"] == "finished"}
        begun = [
            row
            for row in self._rows_of(uuid)
            if row["phase"] == "decided" and row["attempt"] and row["result"] == "chosen"
        ]
        return tuple(row for row in reversed(begun) if _which(row) not in finished)

    def failures(self, uuid: str, operation: Operation) -> int:
        """How often in a row an operation came to nothing, until now."""
        results = (row["result"] for row in self._ended(uuid, operation))
        return len(list(takewhile(lambda result: result not in ("done", "dry_run"), results)))

    def last(self, uuid: str, operation: Operation) -> Row | None:
        """The newest row that tells what came of an operation."""
        return next(self._ended(uuid, operation), None)

    def _ended(self, uuid: str, operation: Operation) -> Iterator[Row]:
        """What came of an operation, newest first, wherever it was begun."""
        for row in self._rows_of(uuid):
            if row["phase"] == "finished" and row["operation"] == operation.value and row["result"] != "withheld":
                yield row

    def remembered(self, uuid: str) -> Remembered:
        """What no metadata says."""
        looks = (
            row["at"]
            for row in self._rows_of(uuid)
            if row["phase"] == "finished" and row["operation"] == "orphans" and row["result"] in _LOOKED
        )
        done: dict[str, datetime] = {}
        for row in self._rows_of(uuid):
            if row["phase"] == "finished" and row["operation"] == "deduplicate" and row["result"] == "done":
                until = _facts_of(row).facts.get(COUNTED_UNTIL)
                if isinstance(until, int):
                    timestamp = moment(until)
                    done |= {key: max(timestamp, done.get(key, timestamp)) for key in _texts(row["partition_keys"])}
        return Remembered(
            counted_at=_counted_at(row for row in self._rows_of(uuid) if row["phase"] == "decided"),
            orphans_looked_at=next(looks, None),
            orphan_candidates=(self.orphans or {}).get(uuid, 0),
            deduplicated=dict(sorted(done.items())),
        )

    @cached_property
    def _newest(self) -> Mapping[str, Row]:
        return {row["table_name"]: row for row in reversed(self.rows) if row["phase"] == "decided"}

    @cached_property
    def _by_table(self) -> Mapping[str, list[Row]]:
        by_table: dict[str, list[Row]] = {}
        for row in self.rows:
            by_table.setdefault(row["table_uuid"], []).append(row)
        return by_table

    def _rows_of(self, uuid: str) -> Sequence[Row]:
        return self._by_table.get(uuid, ())


def rows_about(catalog: LakeCatalog, uuid: str, now: datetime) -> list[Row]:
    """All rows of the last weeks about one table, newest first."""
    return _decisions(catalog, f"table_uuid = '{uuid}' and at >= '{(now - REMEMBERED_FOR).isoformat()}'")


def completed(decided: Row, table: IcebergTable, *, at: datetime) -> Row:
    """What came of a decision whose run died: what it has published is in `main`, by its attempt's marks."""
    landed = next(
        (snapshot for snapshot in ancestry(table, head_of(table)) if attempt_of(snapshot) == decided["attempt"]), None
    )
    action = Action(
        operation=Operation(decided["operation"]),
        partitions=tuple(
            Partition(key=key, name=name)
            for key, name in zip(_texts(decided["partition_keys"]), _texts(decided["partitions"]), strict=False)
        ),
    )
    if landed is not None:
        message = "its run died after it was published, and before it could say so"
        outcome = ActionOutcome(action=action, result="done", snapshot_id=landed.snapshot_id, message=message)
    elif action.operation in _TAKE_AWAY:
        message = "its run died: what it had taken away by then is gone, and what is still due is decided anew"
        outcome = ActionOutcome(action=action, result="failed", message=message, facts={"died": True})
    else:
        message = "its run died: nothing was published, and what is due is decided anew"
        outcome = ActionOutcome(action=action, result="failed", message=message)
    return finished_row(decided, outcome, at=at)


@dataclass(frozen=True)
class _Measured:
    """What of a state is asked here."""

    depth: str
    digest: str


def _counted_at(decided: Iterable[Row]) -> datetime | None:
    """When the files of each partition were last counted, if nothing has been due or waiting since."""
    for row in decided:
        if row["result"] != "nothing":
            return None
        if msgspec.json.decode(row["state"], type=_Measured).depth != Depth.TOTALS.name.lower():
            return row["at"]
    return None


def _which(row: Row) -> tuple[str | None, str]:
    return row["attempt"], row["operation"]


def _texts(value: str) -> list[str]:
    return msgspec.json.decode(value, type=list[str])


def _facts_of(row: Row) -> DecisionFacts:
    return msgspec.json.decode(row["measured"], type=DecisionFacts)


def _candidates(rows: Sequence[Row], done: Collection[str]) -> Mapping[str, int]:
    """How many files wait for their second look, by table; or are still there, as the look that took them has died."""
    newest: dict[tuple[str, str], Row] = {}
    for row in sorted(rows, key=lambda row: row["at"]):
        newest[row["table_uuid"], row["path"]] = row
    counts: dict[str, int] = {}
    for (uuid, _), row in newest.items():
        if row["event"] == "candidate" or (row["event"] == "deleted" and row["look_id"] not in done):
            counts[uuid] = counts.get(uuid, 0) + 1
    return counts


def _decisions(catalog: LakeCatalog, row_filter: str) -> list[Row]:
    rows = _rows(catalog, MAINTENANCE_LOG.name, row_filter, ("*",))
    return sorted(rows, key=lambda row: (row["at"], row["row_id"]), reverse=True)


def _orphans(catalog: LakeCatalog, since: datetime) -> list[Row]:
    columns = ("table_uuid", "path", "at", "event", "look_id")
    return _rows(catalog, ORPHANS.name, f"at >= '{since.isoformat()}'", columns)


def _rows(catalog: LakeCatalog, name: str, row_filter: str, columns: tuple[str, ...]) -> list[Row]:
    try:
        base = read_bases(catalog, [name])[name]
    except NoSuchTableError:
        return []
    if base.snapshot_id is None:
        return []
    scan = base.table.scan(row_filter=row_filter, selected_fields=columns, snapshot_id=base.snapshot_id)
    return list(scan.to_arrow().to_pylist())
