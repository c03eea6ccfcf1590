"""Does every live row of a derived table carry the runtime date of the run that computed it? By manifests alone.

For each data file a manifest has the least and the greatest value of the date column, and how many nulls it holds. If
both are the same date and there is no null, every row of the file has that date. Deleted rows cannot make such an
answer wrong: a part of rows that all have one date has that date as well. They can make the opposite wrong, as the
rows that break the promise may be the deleted ones; so where there are delete files, a file that fails by its bounds is
read. Also read is what bounds cannot decide, such as a file in which a compaction has put several runs together: its
one column, and no other file's.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.utils.datetime import days_to_date

from lakehouse.declarations import Derived
from lakehouse.iceberg.manifests.entry_reader import SnapshotManifests
from lakehouse.iceberg.names import table_name
from lakehouse.proofs.lineage.expected_dates import CannotCheckDates, ExpectedDates, expectation
from lakehouse.protocol.errors import SealBroken
from lakehouse.protocol.seals.covered import unsealed_commits

DatesDecidedBy = Literal["manifests", "manifests and scan", "empty"]


@dataclass(frozen=True)
class DateFinding:
    """A file whose rows do not carry the date that they should.

    Args:
        kind: `other_date`, `null_date`, `unsealed` (nobody said for which date the rows are, or by whom they were
            written or removed) or `seal_edited`.
        message: what is wrong, for a person.
        file: its name; empty where the finding is not about one.
    """

    kind: str
    message: str
    file: str = ""


@dataclass(frozen=True)
class DatesReport:
    """What is known of a table's runtime dates.

    Args:
        expected: dates that the seals give for what is in the table; one for a table that is computed as a whole.
        files: live data files.
        scanned: those of them whose date column was read.
        beyond_seals: date → files of it that were added by runs whose seals have expired. Each has that one date;
            whether it was the run's, nobody can say any more.
    """

    table: str
    snapshot_id: int
    column: str
    expected: tuple[date, ...] = ()
    files: int = 0
    rows: int = 0
    scanned: int = 0
    beyond_seals: Mapping[date, int] = field(default_factory=dict[date, int])
    findings: tuple[DateFinding, ...] = ()
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether no row is known to carry a wrong date."""
        return not self.findings

    @property
    def decided_by(self) -> DatesDecidedBy:
        """In one word."""
        return "empty" if not self.files else "manifests and scan" if self.scanned else "manifests"


def check_dates(table: Table, snapshot_id: int, declared: Derived) -> DatesReport:
    """Compare the runtime date column of every live data file with the seals.

    Args:
        table: as loaded.
        snapshot_id: which snapshot of it.
        declared: how it is derived. If the table is computed as a whole, its last seal has the date of every file; else
            each file has that of the attempt that added it.

    Raises:
        CannotCheckDates: the snapshot, or the seal that would tell, has expired, or the table lacks the column.
        FileNotFoundError: a data file that has to be read is not there.
    """
    started = time.monotonic()
    snapshot = table.metadata.snapshot_by_id(snapshot_id)
    if snapshot is None:
        raise CannotCheckDates(f"{declared.name}: snapshot {snapshot_id} has expired.", remedy="check a newer one")
    judged = _Judged(table, declared, snapshot)
    try:
        judged.look()
    except SealBroken as broken:
        judged.findings.append(DateFinding("seal_edited", broken.message))
    judged.findings += foreign_commits(table, snapshot_id)
    return DatesReport(
        table=declared.name,
        snapshot_id=snapshot_id,
        column=judged.column,
        expected=tuple(sorted(judged.expected)),
        files=judged.files,
        rows=judged.rows,
        scanned=judged.scanned,
        beyond_seals=dict(sorted(judged.beyond_seals.items())),
        findings=tuple(judged.findings),
        seconds=time.monotonic() - started,
    )


def foreign_commits(table: Table, snapshot_id: int) -> list[DateFinding]:
    """The commits that led to a snapshot and that no run of the table has sealed."""
    reason = "came from outside the protocol: no run of this table has sealed it"
    return [DateFinding("unsealed", f"{commit} {reason}.") for commit in unsealed_commits(table, snapshot_id)]


class _Judged:
    """The files of one snapshot, as they are judged one by one."""

    def __init__(self, table: Table, declared: Derived, snapshot: Snapshot) -> None:
        self.table, self.snapshot = table, snapshot
        self.column = declared.table.runtime_date_column or ""
        self.files = self.rows = self.scanned = 0
        self.expected: set[date] = set()
        self.beyond_seals: dict[date, int] = {}
        self.findings: list[DateFinding] = []
        self._declared = declared

    def look(self) -> None:
        """Judge every live file."""
        field_id = self._field_id()
        manifests = SnapshotManifests.of(self.table, self.snapshot)
        deletes = manifests.with_deletes
        expected = expectation(self.table, self.snapshot, self._declared)
        undecided: dict[str, ExpectedDates] = {}
        for added_by, file in manifests.live_files():
            self.files += 1
            self.rows += file.record_count
            expected_dates = expected(added_by)
            if expected_dates is None:
                message = (
                    f"{_name(file.file_path)} was added by snapshot {added_by}, which no run of this table has sealed"
                )
                self.findings.append(DateFinding("unsealed", f"{message}.", _name(file.file_path)))
                continue
            self.expected |= expected_dates.dates
            rows_by_day = _by_bounds(file, field_id)
            if rows_by_day is None or (deletes and self._judge(rows_by_day, expected_dates)):
                undecided[file.file_path] = expected_dates
            else:
                self._take(file.file_path, rows_by_day, expected_dates)
        for path, rows_by_day in self._scan(undecided):
            self.scanned += 1
            self._take(path, rows_by_day, undecided[path])

    def _field_id(self) -> int:
        try:
            return self.table.schema().find_field(self.column).field_id
        except ValueError:
            raise CannotCheckDates(
                f"{table_name(self.table)} has no column '{self.column}', which is declared as its runtime date.",
                remedy="look at the difference with `lakehouse plan`, then make it with `lakehouse apply`",
            ) from None

    def _judge(
        self, rows_by_day: Mapping[date | None, int | None], expected_dates: ExpectedDates
    ) -> list[tuple[str, str]]:
        """What is wrong with a file that holds these dates: kind and words."""
        findings: list[tuple[str, str]] = []
        right = " or ".join(sorted(day.isoformat() for day in expected_dates.dates))
        for day, rows in rows_by_day.items():
            some = "rows" if rows is None else f"{rows:,} rows"
            if day is None:
                findings.append(
                    ("null_date", f"holds {some} without a runtime date; {expected_dates.by} is of {right}")
                )
            elif day not in expected_dates.dates and expected_dates.sure:
                findings.append(("other_date", f"holds {some} of {day}; {expected_dates.by} is of {right}"))
        return findings

    def _take(self, path: str, rows_by_day: Mapping[date | None, int | None], expected_dates: ExpectedDates) -> None:
        self.findings += [
            DateFinding(kind, f"{_name(path)} {message}.", _name(path))
            for kind, message in self._judge(rows_by_day, expected_dates)
        ]
        for day in rows_by_day:
            if day is not None and day not in expected_dates.dates and not expected_dates.sure:
                self.beyond_seals[day] = self.beyond_seals.get(day, 0) + 1

    def _scan(self, undecided: Mapping[str, ExpectedDates]) -> Iterator[tuple[str, dict[date | None, int | None]]]:
        """Dates in some files, with how many rows each has, deletes applied."""
        if not undecided:
            return
        schema = self.table.schema().select(self.column)
        for task in self.table.scan(snapshot_id=self.snapshot.snapshot_id).plan_files():
            if task.file.file_path in undecided:
                rows = ArrowScan(self.table.metadata, self.table.io, schema, AlwaysTrue()).to_table([task])
                counts: Iterable[dict[str, Any]] = rows[self.column].value_counts().to_pylist()
                yield task.file.file_path, {value_count["values"]: value_count["counts"] for value_count in counts}


def _by_bounds(file: DataFile, field_id: int) -> dict[date | None, int | None] | None:
    """The dates in a file, by its manifest entry; None if that cannot tell."""
    if file.record_count == 0:
        return {}
    nulls = (file.null_value_counts or {}).get(field_id)
    lower, upper = (file.lower_bounds or {}).get(field_id), (file.upper_bounds or {}).get(field_id)
    if nulls is None or (nulls < file.record_count and (lower is None or lower != upper)):
        return None
    rows_by_day: dict[date | None, int | None] = {None: nulls} if nulls else {}
    if lower is not None and nulls < file.record_count:
        rows_by_day[days_to_date(int.from_bytes(lower, "little", signed=True))] = file.record_count - nulls
    return rows_by_day


def _name(path: str) -> str:
    return path.rpartition("/")[2]
