"""Small changelogs as Spark frames, and a mirror whose state is kept in Python between ranges."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pandera.pyspark as pa
import pyarrow
import pyspark.sql.types as T  # noqa: N812
from pyspark.sql import DataFrame, SparkSession

from lakehouse.declarations import Changelog, Mirror, MirrorTables, Table
from lakehouse.declarations.columns.schemas import arrow_schema, spark_schema
from lakehouse.steps.cdc.fold.key_changes import complete
from lakehouse.steps.cdc.fold.rows_to_write import Delta, resolve
from lakehouse.steps.cdc.fold.scope import FoldScope, SealedFold
from lakehouse.steps.cdc.fold.survey import RangeSurvey, survey
from lakehouse.steps.cdc.plan.initial_load import collectable
from lakehouse.steps.cdc.position import ChangePosition
from lakehouse.steps.cdc.statement import Applied
from lakehouse_tests.steps.cdc.plain_fold import Change, Key

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def declare(key: Sequence[str], columns: dict[str, T.DataType], *, deletes: str = "hard", **more: Any) -> MirrorTables:
    """A changelog and a mirror of these columns."""
    log = Changelog(
        name="changes.things",
        topic="things",
        row=pa.DataFrameSchema({name: pa.Column(kind, nullable=True) for name, kind in columns.items()}),
        key=tuple(key),
        description="Things.",
        owner="tests",
        **more,
    )
    return MirrorTables(Mirror(name="mirror.things", changelog=log, deletes=deletes), log)  # pyright: ignore[reportArgumentType]


def changelog_rows(tables: MirrorTables, changes: Iterable[Change]) -> list[dict[str, Any]]:
    """Changes as rows of the changelog."""
    key = tables.changelog.key
    rows: list[dict[str, Any]] = []
    for change in changes:
        named = dict(zip(key, change.key, strict=False))  # a truncate has none
        sent = {name: None if name in change.unavailable else value for name, value in change.columns.items()}
        image = None if change.gone or not change.columns else named | sent
        rows.append(
            {
                "operation": change.operation,
                "key": named if change.key else None,
                "after": image,
                "unavailable": sorted(change.unavailable) or None,
                "other_key": None if change.other is None else dict(zip(key, change.other, strict=True)),
                "position": change.position._asdict() if change.position else None,
                "source_time": None if change.time is None else time_of(change.time),
                "_kafka_topic": "things",
                "_kafka_partition": change.partition,
                "_kafka_offset": change.offset,
                "_kafka_timestamp": time_of(change.time or 0),
            }
        )
    return rows


def time_of(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def frame(session: SparkSession, table: Table, rows: Sequence[dict[str, Any]]) -> DataFrame:
    """Rows of a table as a frame; what a row leaves out is null."""
    fields = [field.with_nullable(True) for field in arrow_schema(table)]
    columns = {field.name: [row.get(field.name) for row in rows] for field in fields}
    if not rows:  # of which Spark Connect would infer nothing
        return session.createDataFrame(
            [], T.StructType([T.StructField(f.name, f.dataType) for f in spark_schema(table)])
        )
    return session.createDataFrame(pyarrow.table(columns, schema=pyarrow.schema(fields)))


class Mirrored:
    """A mirror outside any table: what a step would keep."""

    def __init__(self, session: SparkSession, tables: MirrorTables) -> None:
        self.session, self.tables = session, tables
        self.log, self.mirror = tables.changelog, tables.mirror
        self.rows: dict[Key, dict[str, Any]] = {}
        self.tombstones: list[dict[str, Any]] = []
        self.refused: list[dict[str, Any]] = []
        self.memory = SealedFold()
        self.applied = Applied()
        self.surveyed = RangeSurvey()
        self.came: list[Change] = []

    def apply(self, changes: Sequence[Change], *, few: bool = True) -> Delta:
        """Fold a range onto what is kept."""
        log = self.tables.changelog
        read = frame(self.session, log.table, changelog_rows(self.tables, changes))
        self.surveyed = survey(read, log)
        scope = FoldScope.of(log, self.mirror, self.memory, self.surveyed)
        rows = frame(self.session, self.tables.mirror_table, list(self.rows.values()))
        tombstones = frame(self.session, self.tables.tombstones_table, self.tombstones)
        self.came += changes
        if scope.moving:
            past = frame(self.session, log.table, changelog_rows(self.tables, self.came))
            read = complete(read, scope, past=past, mirror_rows=rows, few=few)
        delta = resolve(read, scope, rows, tombstones, few=few)
        self.write(delta)
        moved = max((p for p in (self.memory.moved, self.surveyed.moved) if p), default=None)
        self.memory = replace(self.memory, truncated=scope.barrier, behind=delta.behind, moved=moved)
        return delta

    def forget(self, low_watermark_us: int) -> None:
        """The source's clock has gone on: collect tombstones."""
        self.memory = replace(self.memory, low_watermark_us=low_watermark_us)
        ledger = frame(self.session, self.tables.tombstones_table, self.tombstones)
        self.tombstones = ledger.filter(~collectable(self.memory)).toArrow().to_pylist()

    def write(self, delta: Delta) -> None:
        """What MERGE does, and refuses to do."""
        counted = {"insert": 0, "update": 0, "delete": 0}
        for row in delta.rows.toArrow().to_pylist():
            action, key = row.pop("_action"), self.key(row)
            counted[action] += 1
            row["_cdc_behind"] = row["_cdc_behind"] and dict(row["_cdc_behind"])
            assert (key in self.rows) == (action != "insert"), (action, key)
            if action == "delete":
                del self.rows[key]
            else:
                self.rows[key] = row
        assert counted["insert"] == delta.applied.inserted
        assert sum(counted.values()) == delta.applied.inserted + delta.applied.updated + delta.applied.deleted
        self.tombstones += delta.tombstones.toArrow().to_pylist()
        self.refused += delta.refused.toArrow().to_pylist()
        self.applied += delta.applied

    def key(self, row: dict[str, Any]) -> Key:
        return tuple(row[name] for name in self.log.key)

    def plain_rows(self) -> dict[Key, dict[str, Any]]:
        """The mirror's rows as the plain fold tells them."""
        return {key: self._plain_row(row) for key, row in self.rows.items()}

    def _plain_row(self, row: dict[str, Any]) -> dict[str, Any]:
        behind = row["_cdc_behind"] or {}
        return {
            **{c.name: row[c.name] for c in self.log.columns if c.name not in self.log.key},
            "position": ChangePosition.of(row["_cdc_position"]),
            "behind": {name: ChangePosition.of(position) for name, position in behind.items()},
            "deleted": row.get("_cdc_deleted", False),
        }
