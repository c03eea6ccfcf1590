"""What a reader of Dagster's UI learns of an ingest: for each table, what came in, from where, and how long it took."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from dagster import AssetMaterialization, DataVersion, MaterializeResult, MetadataValue, TableMetadataValue

from lakehouse.engines.kafka.statement import WITHOUT_RECORD
from lakehouse.iceberg.names import identifier_of
from lakehouse.orchestration.assets.metadata.arrivals_plot import arrivals_markdown
from lakehouse.orchestration.assets.metadata.refused_plot import DAYS, refused_markdown
from lakehouse.orchestration.resources import Lake
from lakehouse.orchestration.resources.materialization import rows_shown, table_metadata, texts_shown, write_tags
from lakehouse.orchestration.run_context import STREAM_TAG
from lakehouse.protocol.commit import Published
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.ingest.repair.refused_trend import refused_by_day
from lakehouse.steps.ingest.report import IngestReport

DATA_VERSION = "dagster/data_version"


def ingest_results(
    report: IngestReport, published: Published, lake: Lake, attempt: Attempt, totals: Mapping[str, int]
) -> Iterator[MaterializeResult[Any]]:
    """One result for each table of the step.

    Args:
        report: what the step did.
        published: what became visible.
        lake: for the columns.
        attempt: who wrote.
        totals: table → rows that it holds now.
    """
    shared = _stream_metadata(report, attempt)
    reserved = {"reservation": text} if (text := lake.settings.catalog.reservation) else {}
    quarantine = lake.declarations.streams[report.stream].quarantine_table
    for name, snapshot_id in published.snapshots.items():
        table = report.tables.get(name) or lake.declarations.tables[name]
        yield MaterializeResult(
            asset_key=lake.names.key(name),
            metadata={
                "rows added": report.rows.get(name, 0),
                **({"dagster/row_count": totals[name]} if name in totals else {}),
                "snapshot id": str(snapshot_id),
                **shared,
                **reserved,
                **_evolution(report, name),
                **(_refused(lake, name, snapshot_id) if name == quarantine and report.rows.get(name) else {}),
                **table_metadata(table),
            },
            data_version=DataVersion(str(snapshot_id)),
            tags={**write_tags(attempt), STREAM_TAG: report.stream},
        )


def made_table_event(result: MaterializeResult[Any]) -> AssetMaterialization:
    """The same of a table that records have named: no definition knows it, so it is told as an event of its own.

    Dagster shows it in its catalog of assets, with its history and columns, as one that no code location defines.
    """
    assert result.asset_key is not None
    version = {DATA_VERSION: result.data_version.value} if result.data_version else {}
    return AssetMaterialization(
        asset_key=result.asset_key, metadata=result.metadata, tags={**(result.tags or {}), **version}
    )


def _stream_metadata(report: IngestReport, attempt: Attempt) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "summary": MetadataValue.md(_summary(report)),
        "offsets": offsets_table(report.ranges),
        "records read": report.counts.read,
        "lag": report.lag,
        "quarantine share": round(report.quarantine_share, 6),
        "error classes": MetadataValue.json(report.errors),
        "branch": attempt.branch,
        "attempt": attempt.id,
        "runtime date": attempt.runtime_date,
        "seconds": round(report.seconds, 2),
        "records per second": round(report.counts.read / report.seconds) if report.seconds else 0,
    }
    if report.without_record:
        metadata["offsets without a record"] = sum(report.without_record.values())
        metadata["why offsets have no record"] = WITHOUT_RECORD[report.because]
    if report.dropped:
        metadata["dropped by rule"] = MetadataValue.json({rule: dict(rows) for rule, rows in report.dropped.items()})
    if report.schemas:
        metadata["schemas"] = MetadataValue.json(report.schemas)
    if report.extra_fields:
        metadata["fields that no table has"] = MetadataValue.json(report.extra_fields)
    if report.mirror is not None:
        metadata["position mirrored to group"] = report.mirror.group
        if report.mirror.problem:
            metadata["position not mirrored"] = report.mirror.problem
    if picture := arrivals_markdown(report.arrivals):
        metadata["arrivals"] = MetadataValue.md(picture)
    return metadata


def _evolution(report: IngestReport, name: str) -> dict[str, Any]:
    """How the table has followed its records, or why it takes none."""
    metadata: dict[str, Any] = {}
    if changes := report.evolved.get(name):
        metadata["columns changed"] = texts_shown("change", changes)
    if reason := report.stopped.get(name):
        metadata["takes no records"] = reason
    return metadata


def _refused(lake: Lake, quarantine: str, snapshot_id: int) -> dict[str, Any]:
    """What the quarantine holds of the last days."""
    today = datetime.now(UTC).date()
    table = lake.catalog.load_table(identifier_of(quarantine))
    picture = refused_markdown(refused_by_day(table, snapshot_id, DAYS, today=today), today)
    return {"refused by day": MetadataValue.md(picture)} if picture else {}


def _summary(report: IngestReport) -> str:
    """A small table of the whole stream: it stands beside each of its tables."""
    lines = [f"| table of `{report.stream}` | rows added |", "|---|---:|"]
    lines += [f"| {name} | {rows:,} |" for name, rows in sorted(report.rows.items())]
    return "\n".join(lines)


def offsets_table(ranges: Mapping[int, tuple[int, int]]) -> TableMetadataValue:
    """Kafka ranges: partition, first offset, offset after the last, and how many that are."""
    columns = {"partition": "int", "from": "int", "to": "int", "offsets": "int"}
    return rows_shown(columns, [(p, start, end, end - start) for p, (start, end) in sorted(ranges.items())])
