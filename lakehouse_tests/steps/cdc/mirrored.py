"""A changelog and its mirror, made without Kafka and Spark: the commits are the product's, the fold is plain."""

import json
import shutil
import zlib
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pandera.pyspark as pandera
import pyarrow as pa
import pyspark.sql.types as T  # noqa: N812
from pyiceberg.io.pyarrow import _dataframe_to_data_files, schema_to_pyarrow
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table, Transaction

from lakehouse.declarations import Changelog, Declarations, Mirror, MirrorTables, apply, plan
from lakehouse.declarations.registry.joining import Collected
from lakehouse.engines.kafka.statement import Counts, KafkaStatement
from lakehouse.engines.kafka.tally import Tally
from lakehouse.protocol.catalog import LakeCatalog, open_catalog
from lakehouse.protocol.commit import Staged, open_branch, publish, seal_branch, stage_files
from lakehouse.protocol.commit.stage import _open, commit_on_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base, read_bases
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.cdc.position import ChangePosition
from lakehouse.steps.cdc.statement import Applied, MirrorStatement
from lakehouse_tests.fixtures.lakes import sql_settings

LOG, BIRDS = "changelog.birds", "mirror.birds"
TOMBSTONES, REFUSED = "mirror.birds_tombstones", "quarantine.mirror_birds"
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
ROW = pandera.DataFrameSchema(
    {
        "id": pandera.Column(T.LongType(), nullable=False),
        "name": pandera.Column(T.StringType(), nullable=False),
        "weight": pandera.Column(T.DoubleType(), pandera.Check.gt(0), nullable=True),
        "song": pandera.Column(T.StringType(), nullable=True, metadata={"sensitive": True}),
    }
)
COLUMNS = ("id", "name", "weight", "song")
Row = dict[str, Any]


def change(operation: str, commit: int | None, key: int | None = None, /, *, partition: int = 0, **more: Any) -> Row:
    """One change at (0, commit, 0); `name=…` and so on are its image, `without=("song",)` was not sent."""
    sequence, epoch = more.pop("sequence", 0), more.pop("epoch", 0)
    without, late = tuple(more.pop("without", ())), more.pop("late", 0)
    other = more.pop("other", None)
    image = {"id": key, "name": None, "weight": None, "song": None, **more}
    time = None if commit is None else BEGAN + timedelta(seconds=commit - late)
    return {
        "operation": operation,
        "key": None if key is None else {"id": key},
        "other_key": None if other is None else {"id": other},
        "after": image if operation in ("insert", "update", "read") else None,
        "unavailable": list(without) or None,
        "position": None if commit is None else {"epoch": epoch, "commit": commit, "sequence": sequence},
        "source_time": time,
        "_kafka_partition": partition,
    }


def insert(commit: int, key: int, **more: Any) -> Row:
    """A row with a name."""
    return change("insert", commit, key, **{"name": f"bird {key}", "weight": 1.0, "song": f"song {key}"} | more)


def refusal(key: bytes | None, value: bytes | None, /, *, partition: int = 0, error: str = "wrong_type") -> Row:
    """A message that the stream refuses."""
    return {"_refused": {"key": key, "value": value, "error_class": error}, "_kafka_partition": partition}


def fold(changes: Sequence[Row], *, soft: bool = False) -> tuple[dict[int, Row], dict[int, Row]]:
    """Rows and tombstones by key, from the definition: registers, change by change, in plain Python."""
    registers: dict[int, dict[str, tuple[ChangePosition, Any]]] = {}
    heads: dict[int, tuple[ChangePosition, bool, datetime | None]] = {}
    last_positions: dict[tuple[int, int], ChangePosition] = {}
    truncated = max((ChangePosition.of(c["position"]) for c in changes if c["operation"] == "truncate"), default=None)
    before = _Before(changes, None if soft else truncated, soft=soft)
    for c in changes:
        operation, key = c["operation"], (c["key"] or {}).get("id")
        if operation in ("control", "truncate"):
            continue
        place = (c["_kafka_partition"], key)
        position = ChangePosition.of(c["position"]) or last_positions.get(place)
        if position is None:
            continue
        if c["position"]:
            last_positions[place] = position
        alive = operation in ("insert", "update", "read")
        wins = operation == "tombstone" and c["position"] is None
        head = heads.get(key)
        if head is None or position > head[0] or (wins and position == head[0] and head[1]):
            heads[key] = position, alive, c["source_time"] or BEGAN + timedelta(seconds=position.commit)
        if not alive and soft:
            continue
        for name in COLUMNS:
            unsent = alive and name in (c["unavailable"] or ())
            if unsent and not left_out(c):
                continue
            mine = registers.setdefault(key, {})
            if name not in mine or position > mine[name][0] or (wins and position == mine[name][0]):
                value = (
                    before.value(c["other_key"]["id"], name, position) if unsent else c["after"] and c["after"][name]
                )
                mine[name] = position, value
    rows: dict[int, Row] = {}
    gone: dict[int, Row] = {}
    for key, (position, alive, time) in heads.items():
        remembered = {
            "_cdc_position": position._asdict(),
            "_cdc_source_time": time,
            "_cdc_digest": zlib.crc32(repr((key, position)).encode()),
        }
        if not soft and truncated is not None and position < truncated:
            continue
        if not alive and not soft:
            gone[key] = {"id": key, **remembered}
            continue
        late = soft and truncated is not None and position < truncated
        head_position = truncated if late else position
        rows[key] = remembered | _row(key, head_position, registers.get(key, {}), None if soft else truncated)
        rows[key]["_cdc_position"] = head_position._asdict()
        if soft:
            rows[key]["_cdc_deleted"] = not alive or late
    return rows, gone


def left_out(c: Row) -> bool:
    """Whether a change of key left values out."""
    return c["operation"] == "insert" and bool(c["other_key"] and c["unavailable"])


@dataclass
class _Before:
    """What keys held before a position."""

    changes: Sequence[Row]
    wiped: ChangePosition | None
    soft: bool

    def value(self, key: int, name: str, position: ChangePosition) -> Any:
        earlier = [
            c
            for c in self.changes
            if c["key"] == {"id": key}
            and c["position"]
            and ChangePosition.of(c["position"]) < position
            and self._tells(c, name)
        ]
        last = max(earlier, key=lambda c: ChangePosition.of(c["position"]), default=None)
        if last is None or last["after"] is None or (self.wiped and ChangePosition.of(last["position"]) < self.wiped):
            return None
        if name in (last["unavailable"] or ()):
            return self.value(last["other_key"]["id"], name, ChangePosition.of(last["position"]))
        return last["after"][name]

    def _tells(self, c: Row, name: str) -> bool:
        if c["operation"] in ("delete", "tombstone"):
            return not self.soft
        return c["after"] is not None and (name not in (c["unavailable"] or ()) or left_out(c))


def _row(
    key: int,
    position: ChangePosition,
    registers: Mapping[str, tuple[ChangePosition, Any]],
    wiped: ChangePosition | None,
) -> Row:
    row: Row = {"id": key}
    behind: list[tuple[str, Row]] = []
    for name in sorted(COLUMNS[1:]):
        column_position, value = registers.get(name, (None, None))
        if wiped is not None and (column_position is None or column_position < wiped):
            column_position, value = wiped, None
        row[name] = value
        column_position = column_position or ChangePosition(-1, -1, -1)
        if column_position < position:
            behind.append((name, column_position._asdict()))
    return {**row, "_cdc_behind": behind or None}


def joined_of(mirror: Mirror, log: Changelog) -> Declarations:
    """A changelog and its mirror, as if a file had declared them."""
    collected = Collected()
    collected.add(log, None)  # type: ignore[arg-type]
    collected.add(mirror, None)  # type: ignore[arg-type]
    return collected.joined()


@dataclass
class MirroredLake:
    """A stream of changes of birds, and their mirror."""

    catalog: LakeCatalog
    mirror: Mirror = field(default_factory=lambda: Mirror(name=BIRDS, changelog=LOG))
    log: Changelog = field(
        default_factory=lambda: Changelog(
            name=LOG, topic="birds", row=ROW, key=("id",), description="Birds.", owner="tests"
        )
    )

    def __post_init__(self) -> None:
        self.declarations: Declarations = joined_of(self.mirror, self.log)
        self.tables: MirrorTables = self.declarations.mirrors[self.mirror.name]
        self.stream = self.declarations.streams["birds"]
        for name in (LOG, self.stream.quarantine_table, *(table.name for table in self.tables.tables)):
            apply(plan(self.declarations.tables[name], self.catalog), self.catalog)
        self.changes: list[Row] = []
        self.refused: list[Row] = []
        self.late: list[Row] = []
        self.initial: list[Row] = []
        self.initial_name = ""
        self._runs = 0
        self.arrived = BEGAN

    def _next(self) -> int:
        self._runs += 1
        return self._runs

    def load(self, name: str) -> Table:
        """Afresh."""
        return self.catalog.load_table(tuple(name.split(".")))

    def files(self, name: str, rows: Sequence[Row]) -> list[DataFile]:
        """Write rows of a table without adding them."""
        table = self.load(name)
        schema = schema_to_pyarrow(table.schema(), include_field_ids=False)
        full = [{field.name: row.get(field.name) for field in schema} for row in rows]
        frame = pa.Table.from_pylist(full, schema)
        return list(_dataframe_to_data_files(table.metadata, frame, table.io))

    def begin_with(self, rows: Sequence[Row]) -> None:
        """Make an initial copy."""
        self.catalog.create_namespace_if_not_exists("raw")
        image = self.load(LOG).schema().find_type("after")
        table = self.catalog.create_table("raw.old", Schema(*(f for f in image.fields if f.name != "song")))
        table.append(pa.Table.from_pylist(list(rows), schema_to_pyarrow(table.schema(), include_field_ids=False)))
        self.initial_name = f"raw.old@{table.metadata.current_snapshot_id}"
        self.initial = [
            change("read", 0, row["id"], **{n: v for n, v in row.items() if n != "id"}, partition=-1)
            | {"_kafka_offset": number, "source_time": None}
            for number, row in enumerate(rows)
        ]

    # The stream's step

    def ingest(self, *changes: Row) -> int:
        """One run of the stream; returns the changelog's snapshot."""
        names = (LOG, self.stream.quarantine_table)
        bases = read_bases(self.catalog, names)
        attempt = Attempt(run_id=f"ingest-{self._next()}", step="ingest:birds")
        sealed = bases[LOG].sealed
        before = KafkaStatement.from_keys(sealed.seal.statement) if sealed else None
        start = dict(before.end) if before else {0: 0, 1: 0}
        end, tallies = dict(start), dict[str, dict[int, Tally]]()
        rows, refused = [], []
        for change in changes:
            p, o = change["_kafka_partition"], end[change["_kafka_partition"]]
            end[p] = o + 1
            mine = tallies.setdefault(names["_refused" in change], {})
            mine[p] = mine.get(p, Tally()) + Tally(1, o, o * o)
            self.arrived += timedelta(seconds=1)
            place = {"_kafka_topic": "birds", "_kafka_offset": o, "_kafka_timestamp": self.arrived}
            if "_refused" in change:
                error = {"error_message": "refused", "run_id": attempt.run_id, "_kafka_partition": p}
                refused.append(change["_refused"] | place | error)
            else:
                rows.append(change | place | {"source": "birds"})
        self.changes += rows
        counts = Counts(read=len(rows) + len(refused), written=len(rows), quarantined=len(refused))
        statement = KafkaStatement("cluster", "birds", "topic-id", start, end, tallies, counts=counts).after(before)
        keys = statement.to_keys() | {"changes.operations": _json({LOG: _counted(rows)})}
        if rows:
            stage_files(self.catalog, bases[LOG], attempt, self.files(LOG, rows))
        if refused:
            stage_files(self.catalog, bases[names[1]], attempt, self.files(names[1], refused))
        staged = [self._seal(bases[name], attempt, "ingest", keys) for name in names]
        return publish(self.catalog, staged).snapshots[LOG]

    def reprocess(self, changes: Mapping[tuple[int, int], Row]) -> None:
        """Changes that were refused, by partition and offset, come from the quarantine to the changelog."""
        names = (LOG, self.stream.quarantine_table)
        bases = read_bases(self.catalog, names)
        attempt = Attempt(run_id=f"reprocess-{self._next()}", step="reprocess:birds")
        before = KafkaStatement.from_keys(bases[LOG].sealed.seal.statement)
        rows, came = [], dict[int, Tally]()
        for (p, o), change in changes.items():
            came[p] = came.get(p, Tally()) + Tally(1, o, o * o)
            place = {"_kafka_topic": "birds", "_kafka_partition": p, "_kafka_offset": o, "_kafka_timestamp": BEGAN}
            rows.append(change | place | {"source": "birds"})
        self.changes += rows
        self.late = [*self.late, *rows]
        statement = replace(
            before,
            start=before.end,
            tallies={LOG: came, names[1]: {p: -tally for p, tally in came.items()}},
            counts=Counts(written=len(rows), quarantined=-len(rows)),
            reprocessed={LOG: came},
        ).after(before)
        keys = statement.to_keys() | {"changes.operations": _json({LOG: _counted(rows)})}
        stage_files(self.catalog, bases[LOG], attempt, self.files(LOG, rows))
        open_branch(self.catalog, bases[names[1]], attempt)
        gone = " or ".join(f"(_kafka_partition = {p} and _kafka_offset = {o})" for p, o in changes)
        commit_on_branch(
            self.catalog,
            bases[names[1]],
            attempt.branch,
            lambda transaction: transaction.delete(gone, snapshot_properties=attempt.marks, branch=attempt.branch),
        )
        publish(self.catalog, [self._seal(bases[name], attempt, "reprocess", keys) for name in names])

    def _seal(self, base: Base, attempt: Attempt, kind: str, keys: Mapping[str, str], **more: Any) -> Staged:
        previous = base.sealed.seal if base.sealed else None
        seal = Seal.of(attempt, kind, statement=keys, previous=previous, **more)
        return seal_branch(self.catalog, base, attempt, seal)

    # The mirror's step

    def apply(self, *refused: Row, skip: Sequence[Row] = (), **edit: Any) -> str:
        """One run of the mirror up to the changelog's newest seal; returns its run id.

        Args:
            refused: changes (by position and key) that go to quarantine instead.
            edit: what the seal says otherwise than it should.
        """
        own = [table.name for table in self.tables.tables]
        bases = read_bases(self.catalog, [*own, LOG])
        attempt = Attempt(run_id=f"mirror-{self._next()}", step=f"mirror:{BIRDS}")
        before = MirrorStatement.from_keys(bases[BIRDS].sealed.seal.statement) if bases[BIRDS].sealed else None
        arrived = KafkaStatement.from_keys(bases[LOG].sealed.seal.statement)
        now = [c for c in self.changes if c["_kafka_offset"] < arrived.end[c["_kafka_partition"]]]
        done = {} if before is None else before.kafka_end
        fresh = [c for c in now if c["_kafka_offset"] >= done.get(c["_kafka_partition"], 0) or c in self.late]
        self.late = []
        out = [c for c in fresh if any(_same(c, r) for r in refused)]
        self.refused += out
        soft = self.mirror.deletes == "soft"
        begun = self.initial if before else []
        old_rows, old_gone = fold([*begun, *(c for c in now if c not in fresh and c not in self.refused)], soft=soft)
        rows, gone = fold([*self.initial, *(c for c in now if c not in self.refused)], soft=soft)
        applied = _applied(old_rows, rows, out, soft=soft)
        total = (before.total_applied if before else Applied()) + applied
        times = [c["source_time"] for c in now if c["source_time"]]
        statement = MirrorStatement(
            changelog=LOG,
            changelog_uuid=bases[LOG].uuid,
            build=before.build if before else attempt.id,
            start=before.end if before else None,
            end=bases[LOG].sealed.snapshot_id,
            changes=len(fresh),
            operations=_counted(fresh),
            total_operations=_counted(now),
            applied=applied,
            total_applied=total,
            rows=len(rows),
            position=max((ChangePosition.of(c["position"]) for c in now if c["position"]), default=None),
            source_time_us=int(max(times).timestamp() * 1e6) if times else 0,
            truncated=max(
                (ChangePosition.of(c["position"]) for c in now if c["operation"] == "truncate"), default=None
            ),
            initial=self.initial_name,
            moved=max((ChangePosition.of(c["position"]) for c in now if left_out(c)), default=None),
            columns={c.name: c.type.simpleString() for c in self.log.columns},
            arrived_ms=int(max((c["_kafka_timestamp"] for c in now), default=BEGAN).timestamp() * 1000),
            kafka_end=dict(arrived.end),
            reprocessed=arrived.reprocessed_rows(LOG),
        )
        keys = replace(statement, **edit).to_keys()
        self._merge(bases[BIRDS], attempt, [row for key, row in rows.items()], applied)
        added = [row for key, row in gone.items() if old_gone.get(key) != row]
        if added:
            stage_files(self.catalog, bases[TOMBSTONES], attempt, self.files(TOMBSTONES, added))
        if out:
            stage_files(self.catalog, bases[REFUSED], attempt, self.files(REFUSED, [_refused(c, keys) for c in out]))
        inputs = {LOG: statement.end}
        publish(self.catalog, [self._seal(bases[name], attempt, "mirror", keys, inputs=inputs) for name in own])
        return attempt.run_id

    def _merge(self, base: Base, attempt: Attempt, rows: Sequence[Row], applied: Applied) -> None:
        """All files replaced by new ones: what a copy-on-write MERGE of few files comes to."""
        if self.mirror.deletes == "soft":  # to mark a row is to update it
            applied = msgspec.structs.replace(applied, updated=applied.updated + applied.deleted, deleted=0)
        counters = {
            f"spark.merge-into.num-target-rows-{name}": str(getattr(applied, name))
            for name in ("inserted", "updated", "deleted")
        }
        files = self.files(base.name, rows) if rows else []

        def build(transaction: Transaction) -> None:
            _open(transaction, base, attempt)
            old = [task.file for task in base.table.scan().plan_files()] if base.snapshot_id else []
            properties = attempt.marks | counters
            update = transaction.update_snapshot(snapshot_properties=properties, branch=attempt.branch)
            with update.overwrite() as overwrite:
                for file in old:
                    overwrite.delete_data_file(file)
                for file in files:
                    overwrite.append_data_file(file)

        if applied != Applied():
            commit_on_branch(self.catalog, base, attempt.branch, build)

    # Behind our back

    def rows(self, name: str = BIRDS) -> list[Row]:
        """Rows of `main`."""
        return self.load(name).scan().to_arrow().to_pylist()

    def tamper(self, name: str, rows: Sequence[Row]) -> None:
        """Put other rows in place of all, by a commit from outside the protocol."""
        files = self.files(name, rows) if rows else []
        with self.load(name).transaction() as transaction, transaction.update_snapshot().overwrite() as overwrite:
            for task in self.load(name).scan().plan_files():
                overwrite.delete_data_file(task.file)
            for file in files:
                overwrite.append_data_file(file)

    def roll_back(self, name: str, runs: int = 1) -> None:
        """Set a table back to an earlier seal."""
        table = self.load(name)
        sealed = [s for s in _ancestry(table) if "lakehouse.seal" in s.summary.additional_properties]
        table.manage_snapshots().set_current_snapshot(sealed[runs].snapshot_id).commit()


@dataclass
class Saved:
    """A lake that each test gets as it was: the files are never changed, so the catalog's database is all there is."""

    lake: MirroredLake
    folder: Path

    def __post_init__(self) -> None:
        self.lake.catalog.engine.dispose()  # type: ignore[attr-defined]  # what is in the log goes to the file
        self._copy = shutil.copy(self.database, self.folder / "saved.db")
        self._state = {name: copy(value) for name, value in vars(self.lake).items() if name in _STATE}

    @property
    def database(self) -> Path:
        return self.folder / "catalog.db"

    def again(self) -> MirroredLake:
        self.lake.catalog.engine.dispose()  # type: ignore[attr-defined]
        shutil.copy(self._copy, self.database)
        self.lake.catalog = open_catalog(sql_settings(self.folder))
        vars(self.lake).update({name: copy(value) for name, value in self._state.items()})
        return self.lake


_STATE = ("changes", "refused", "late", "initial", "initial_name", "arrived", "_runs")


def _ancestry(table: Table) -> list[Any]:
    by_id = {s.snapshot_id: s for s in table.metadata.snapshots}
    snapshot_id, ancestry = table.metadata.current_snapshot_id, []
    while snapshot_id in by_id:
        ancestry.append(by_id[snapshot_id])
        snapshot_id = by_id[snapshot_id].parent_snapshot_id
    return ancestry


def _counted(rows: Sequence[Row]) -> dict[str, int]:
    names = [row["operation"] for row in rows]
    return {name: names.count(name) for name in sorted(set(names))}


def _same(row: Row, other: Row) -> bool:
    return all(row[name] == other[name] for name in ("operation", "key", "position", "after"))


def _refused(c: Row, keys: Mapping[str, str]) -> Row:
    return {
        "reason": "contradiction",
        "message": "Two things at one position.",
        "operation": c["operation"],
        "key": str(c["key"]),
        "position": c["position"],
        "source_time": c["source_time"],
        "topic": c["_kafka_topic"],
        "partition": c["_kafka_partition"],
        "offset": c["_kafka_offset"],
        "build": keys["mirror.build"],
        "run_id": "run",
    }


def _applied(old: Mapping[int, Row], new: Mapping[int, Row], refused: Sequence[Row], *, soft: bool) -> Applied:
    went = (
        [k for k in new if k in old and new[k]["_cdc_deleted"] > old[k]["_cdc_deleted"]]
        if soft
        else [k for k in old if k not in new]
    )
    changed = [k for k in new if k in old and new[k] != old[k]]
    return Applied(
        inserted=len([k for k in new if k not in old]),
        updated=len([k for k in changed if k not in went]),
        deleted=len(went),
        contradictions=len(refused),
    )


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
