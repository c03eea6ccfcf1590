"""What a reader of Dagster's UI learns of a mirror's step: which changes, what became of rows, how far, how late."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
from dagster import (
    DataVersion,
    MaterializeResult,
    MetadataValue,
    TableColumnDep,
    TableColumnLineage,
)
from pyiceberg.table import Table as IcebergTable

from lakehouse.declarations import MirrorTables
from lakehouse.iceberg.names import identifier_of, table_name
from lakehouse.orchestration.assets.metadata.operations_plot import operations_markdown
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.orchestration.resources import Lake
from lakehouse.orchestration.resources.materialization import rows_shown, table_metadata, write_tags
from lakehouse.orchestration.run_context import MIRROR_TAG
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.history import ancestry, attempt_of, summary_of
from lakehouse.steps.cdc.merge.merge_plan import MergePlan
from lakehouse.steps.cdc.report import MirrorReport
from lakehouse.steps.cdc.statement import KIND_REBUILD, Applied, MirrorStatement
from lakehouse.steps.cdc.status import delay, moment
from lakehouse.steps.cdc.verify.doubt import Doubt


@dataclass(frozen=True)
class WrittenRows:
    """What an attempt wrote into one table, as its snapshots count it.

    Args:
        rows: rows added, those that were only copied into another file included.
        files: data and delete files added.
        size: their bytes.
        published: when the newest of the snapshots was committed.
    """

    rows: int
    files: int
    size: int
    published: datetime | None


def mirror_results(
    report: MirrorReport,
    tables: MirrorTables,
    attempt: Attempt,
    lake: Lake,
    totals: Mapping[str, int],
    doubt: Doubt | None = None,
) -> Iterator[MaterializeResult[Any]]:
    """One result for each table that the step published.

    Args:
        report: what the step did.
        tables: the mirror.
        attempt: who wrote.
        lake: for the sizes of what was written.
        totals: table → rows that it holds now.
        doubt: which keys may be stale; None where it was not looked for.
    """
    assert report.published is not None
    assert report.statement is not None
    published, statement = report.published.snapshots, report.statement
    loaded = lake.catalog.load_tables([identifier_of(name) for name in published])
    written = {table_name(table): written_by(table, attempt.id) for table in loaded.values()}
    shared = _step_metadata(report, statement, attempt, written[tables.mirror.name])
    for table in tables.tables:
        if table.name not in published:
            continue
        is_mirror = table.name == tables.mirror.name
        own = (
            _mirror_metadata(statement, tables, doubt, lake.names)
            if is_mirror
            else {"rows added": written[table.name].rows}
        )
        yield MaterializeResult(
            asset_key=lake.names.key(table.name),
            metadata={
                **own,
                **({"dagster/row_count": totals[table.name]} if table.name in totals else {}),
                "snapshot id": str(published[table.name]),
                "files written": written[table.name].files,
                "bytes written": written[table.name].size,
                **shared,
                **table_metadata(table),
                **({"reservation": text} if (text := lake.settings.catalog.reservation) else {}),
            },
            data_version=DataVersion(str(published[table.name])),
            tags={**write_tags(attempt), MIRROR_TAG: tables.mirror.name},
        )


def written_by(table: IcebergTable, attempt: str) -> WrittenRows:
    """Sum up the snapshots of an attempt that `main` holds."""
    rows = files = size = 0
    published: datetime | None = None
    for snapshot in ancestry(table, table.metadata.current_snapshot_id):
        if attempt_of(snapshot) == attempt:
            summary = summary_of(snapshot)
            published = published or moment(snapshot.timestamp_ms)
            rows += int(summary.get("added-records", "0"))
            files += int(summary.get("added-data-files", "0")) + int(summary.get("added-delete-files", "0"))
            size += int(summary.get("added-files-size", "0"))
    return WrittenRows(rows, files, size, published)


def _mirror_metadata(
    statement: MirrorStatement, tables: MirrorTables, doubt: Doubt | None, names: DagsterNames
) -> dict[str, Any]:
    applied = statement.applied
    metadata: dict[str, Any] = {
        "rows inserted": applied.inserted,
        "rows updated": applied.updated,
        "rows deleted": applied.deleted,
        "keys unchanged": applied.unchanged,
        "duplicates": applied.duplicates,
        "contradictions": applied.contradictions,
        "too late": applied.too_late,
        "dagster/column_lineage": column_lineage(tables, names),
    }
    if doubt is not None:
        metadata |= {"keys in doubt": doubt.keys, "refused changes of unknown key": doubt.unknown}
    if picture := operations_markdown(statement.operations, _rows(applied), _refused(applied)):
        metadata["changes and rows"] = MetadataValue.md(picture)
    return metadata


def _step_metadata(
    report: MirrorReport, statement: MirrorStatement, attempt: Attempt, written: WrittenRows
) -> dict[str, Any]:
    # A rebuild folds what came long ago: that is no delay.
    followed = written.published if report.kind != KIND_REBUILD else None
    late = delay(statement.arrived_ms, followed) if followed else None
    metadata: dict[str, Any] = {
        "summary": MetadataValue.md(_summary(report.mirror, statement)),
        "kind": report.kind,
        "changes": statement.changes,
        "changes per operation": rows_shown(
            {"operation": "string", "changes": "int", "since the build began": "int"},
            [
                (name, statement.operations.get(name, 0), total)
                for name, total in sorted(statement.total_operations.items())
            ],
        ),
        "range": f"({statement.start or 'begin'}, {statement.end}] of {statement.changelog}",
        "position": str(statement.position or ""),
        "changes left for the next run": report.behind,
        "build": statement.build,
        "branch": attempt.branch,
        "attempt": attempt.id,
        "runtime date": attempt.runtime_date,
        "seconds": round(report.seconds, 2),
        "changes per second": round(statement.changes / report.seconds) if report.seconds else 0,
    }
    if report.plan is not None:
        metadata["plan"] = MetadataValue.md(plan_markdown(report.plan, written))
    if report.notes:
        metadata["notes"] = MetadataValue.md("\n".join(f"- {note}" for note in report.notes))
    if late is not None:
        metadata["delay (s)"] = round(late.total_seconds(), 1)
    for name, us in (("source time reached", statement.source_time_us), ("low watermark", statement.low_watermark_us)):
        if (timestamp := moment(us // 1000)) is not None:
            metadata[name] = MetadataValue.timestamp(timestamp)
    return metadata


def column_lineage(tables: MirrorTables, names: DagsterNames = DEFAULT_NAMES) -> TableColumnLineage:
    """From which columns of the changelog each column of the mirror is computed."""
    log = names.key(tables.changelog.name)
    key = {column.name for column in tables.changelog.key_columns}
    # A delete has a key and no image; a change that leaves a column out keeps what an older image said.
    of = {column.name: ("key", "after") if column.name in key else ("after",) for column in tables.changelog.columns}
    more = {"_cdc_position": ("position",), "_cdc_source_time": ("source_time",)}
    return TableColumnLineage(
        {name: [TableColumnDep(log, source) for source in sources] for name, sources in (of | more).items()}
    )


def _summary(name: str, statement: MirrorStatement) -> str:
    """A small table of what the step did: it stands beside each of the mirror's tables."""
    lines = [f"| {name} | this step | since the build began |", "|---|---:|---:|"]
    now, total = msgspec.structs.asdict(statement.applied), msgspec.structs.asdict(statement.total_applied)
    lines += [f"| {counter.replace('_', ' ')} | {now[counter]:,} | {total[counter]:,} |" for counter in now]
    return "\n".join(lines)


def _rows(applied: Applied) -> dict[str, int]:
    return {"rows inserted": applied.inserted, "rows updated": applied.updated, "rows deleted": applied.deleted}


def _refused(applied: Applied) -> dict[str, int]:
    return {"contradictions": applied.contradictions, "too late": applied.too_late}


def plan_markdown(plan: MergePlan, written: WrittenRows) -> str:
    """What the planner chose and why, and what it expected beside what came of it; no value of a row is in it."""
    how = f"**{plan.strategy}**" + (f", {plan.mode}" if plan.mode else "")
    lines = [how, "", *(f"- {reason}" for reason in plan.reasons), "", "| | expected | actual |", "|---|---:|---:|"]
    for name, expected in plan.predicted.as_dict().items():
        lines.append(f"| rows {name} | {expected:,} | {_shown(plan.actual.get(name))} |")
    expected = plan.rewritten.get(plan.mode) if plan.mode else None
    lines.append(f"| bytes written | {_shown(expected)} | {written.size:,} |")
    return "\n".join(lines)


def _shown(number: int | None) -> str:
    return "" if number is None else f"{number:,}"
