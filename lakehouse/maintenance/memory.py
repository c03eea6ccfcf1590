"""What the rows of earlier maintenance say: which decisions stand, what died half-way, what was learnt."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table as IcebergTable

from lakehouse.catalog import LakeCatalog
from lakehouse.commit import read_bases
from lakehouse.commit.history import ancestry, attempt_of, head_of
from lakehouse.maintenance.action import Action, Operation, Outcome, Predicted
from lakehouse.maintenance.experience import Done, Experience, learn
from lakehouse.maintenance.record import Row, Told, finished_row
from lakehouse.maintenance.state import Partition, Remembered
from lakehouse.tables import MAINTENANCE_LOG, ORPHANS

REMEMBERED_FOR = timedelta(days=30)
_LOOKED = ("done", "dry_run", "nothing")


@dataclass(frozen=True)
class Memory:
    """The rows of the last weeks, newest first.

    Attributes:
        rows: of `lakehouse.maintenance`.
        orphans: UUID of a table → files that the last look found and nothing has become of.
    """

    rows: tuple[Row, ...] = ()
    orphans: Mapping[str, int] | None = None

    @classmethod
    def read(cls, catalog: LakeCatalog, now: datetime) -> "Memory":
        """Read them; none where nothing was ever decided."""
        since = now - REMEMBERED_FOR
        rows = _rows(catalog, MAINTENANCE_LOG.name, since)
        rows.sort(key=lambda row: (row["at"], row["row_id"]), reverse=True)
        return cls(tuple(rows), _candidates(_rows(catalog, ORPHANS.name, since)))

    def unfinished(self, uuid: str) -> tuple[Row, ...]:
        """Decisions that a run began to carry out and never said what came of it, oldest first."""
        finished = {_which(row) for row in self._of(uuid) if row["phase"] == "finished"}
        begun = [
            row for row in self._of(uuid) if row["phase"] == "decided" and row["attempt"] and row["result"] == "chosen"
        ]
        return tuple(row for row in reversed(begun) if _which(row) not in finished)

    def failures(self, uuid: str, operation: Operation) -> int:
        """How often in a row an operation came to nothing, until now."""
        failed = 0
        for row in self._of(uuid):
            if row["phase"] == "finished" and row["operation"] == operation.value:
                if row["result"] not in ("failed", "proof_failed", "overtaken"):
                    break
                failed += 1
        return failed

    def last(self, uuid: str, operation: Operation) -> Row | None:
        """The newest row that tells what came of an operation."""
        ended = (r for r in self._of(uuid) if r["phase"] == "finished" and r["operation"] == operation.value)
        return next(ended, None)

    def remembered(self, uuid: str) -> Remembered:
        """What no metadata says."""
        looks = (
            row["at"]
            for row in self._of(uuid)
            if row["phase"] == "finished" and row["operation"] == "orphans" and row["result"] in _LOOKED
        )
        done: dict[str, datetime] = {}
        for row in self._of(uuid):
            if row["phase"] == "finished" and row["operation"] == "deduplicate" and row["result"] == "done":
                for key in msgspec.json.decode(row["partition_keys"], type=list[str]):
                    done.setdefault(key, row["at"])
        return Remembered(
            orphans_looked_at=next(looks, None),
            orphan_candidates=(self.orphans or {}).get(uuid, 0),
            deduplicated=dict(sorted(done.items())),
        )

    def experience(self, uuid: str, *, cores: int | None = None) -> Experience:
        """What was learnt."""
        return learn([found for row in self.rows if (found := _done(row)) is not None], uuid, cores=cores)

    def _of(self, uuid: str) -> Iterator[Row]:
        return (row for row in self.rows if row["table_uuid"] == uuid)


def experience(catalog: LakeCatalog, uuid: str, now: datetime, *, cores: int | None = None) -> Experience:
    """What was learnt in a lake, for one of its tables."""
    return Memory.read(catalog, now).experience(uuid, cores=cores)


def completed(decided: Row, table: IcebergTable, *, at: datetime) -> Row:
    """What came of a decision whose run died: what it has published is in `main`, by its attempt's marks."""
    landed = next((s for s in ancestry(table, head_of(table)) if attempt_of(s) == decided["attempt"]), None)
    action = Action(
        operation=Operation(decided["operation"]),
        partitions=tuple(
            Partition(key=key, name=name)
            for key, name in zip(_texts(decided["partition_keys"]), _texts(decided["partitions"]), strict=False)
        ),
        predicted=msgspec.json.decode(decided["predicted"], type=Predicted),
    )
    if landed is not None:
        message = "its run died after it was published, and before it could say so"
        outcome = Outcome(action=action, result="done", snapshot_id=landed.snapshot_id, message=message)
    else:
        message = "its run died: nothing was published, and what is due is decided anew"
        outcome = Outcome(action=action, result="failed", message=message)
    return finished_row(decided, outcome, at=at)


def _which(row: Row) -> tuple[str | None, str]:
    return row["attempt"], row["operation"]


def _texts(value: str) -> list[str]:
    return msgspec.json.decode(value, type=list[str])


def _done(row: Row) -> Done | None:
    if row["phase"] != "finished" or row["result"] != "done" or not row["measured"]:
        return None
    told = msgspec.json.decode(row["measured"], type=Told)
    if told.after is None:
        return None
    predicted = msgspec.json.decode(row["predicted"], type=Predicted)
    return Done(row["table_uuid"], Operation(row["operation"]), predicted, told.before, told.after)


def _candidates(rows: Sequence[Row]) -> Mapping[str, int]:
    """How many files wait for their second look, by table."""
    newest: dict[tuple[str, str], Row] = {}
    for row in sorted(rows, key=lambda row: row["at"]):
        newest[row["table_uuid"], row["path"]] = row
    found: dict[str, int] = {}
    for (uuid, _), row in newest.items():
        if row["event"] == "candidate":
            found[uuid] = found.get(uuid, 0) + 1
    return found


def _rows(catalog: LakeCatalog, name: str, since: datetime) -> list[dict[str, Any]]:
    try:
        base = read_bases(catalog, [name])[name]
    except NoSuchTableError:
        return []
    if base.snapshot_id is None:
        return []
    scan = base.table.scan(row_filter=f"at >= '{since.isoformat()}'", snapshot_id=base.snapshot_id)
    return scan.to_arrow().to_pylist()
