"""The assets of a stream: all of its tables and its quarantine, changed by one step together or not at all."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dagster as dg
from pyiceberg.table import Table as IcebergTable

from lakehouse.declarations import Declarations, Stream, Table
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import identifier_of, table_name
from lakehouse.orchestration.assets.inline_compaction import compact_tables
from lakehouse.orchestration.assets.metadata.stream import ingest_results, made_table_event
from lakehouse.orchestration.assets.progress import step_progress
from lakehouse.orchestration.assets.specs import declaration_digest, table_spec
from lakehouse.orchestration.assets.topics import topic_keys
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.orchestration.resources import Lake, LakehouseSpark, repeated_when_spark_is_lost
from lakehouse.orchestration.run_context import attempt_of
from lakehouse.protocol.commit import Published
from lakehouse.protocol.errors import Superseded
from lakehouse.protocol.failpoints import failpoint
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.row_count import row_count
from lakehouse.steps.ingest.read.unreadable import OffsetsUnreadable
from lakehouse.steps.ingest.record_limit import limits_of
from lakehouse.steps.ingest.report import IngestReport
from lakehouse.steps.ingest.routes.stopping import stops_alone
from lakehouse.steps.ingest.step import IngestStep, ingest

KINDS = ("iceberg", "kafka", "spark")


def stream_tables(stream: Stream, declarations: Declarations) -> list[Table]:
    """Every table that the stream's step changes, the quarantine last."""
    return [declarations.tables[name] for name in (*stream.tables, stream.quarantine_table)]


def stream_keys(stream: Stream, declarations: Declarations, names: DagsterNames = DEFAULT_NAMES) -> list[dg.AssetKey]:
    """The asset keys of the stream's tables."""
    return [names.key(table.name) for table in stream_tables(stream, declarations)]


def pool_of(stream: Stream) -> str:
    """The pool that keeps two steps from working on the same tables at once.

    It is for peace, not for safety: without it one of the two is superseded, and its work was in vain.
    """
    return f"stream_{stream.name}"


def stream_step(stream: Stream) -> str:
    """The name of the step that lands the stream."""
    return f"ingest_{stream.name}"


def stream_asset(
    stream: Stream, declarations: Declarations, names: DagsterNames = DEFAULT_NAMES
) -> dg.AssetsDefinition:
    """Make the assets of one stream.

    Outputs are skippable: a step that found nothing new, or that another run was quicker than, materializes nothing.
    """
    tables = stream_tables(stream, declarations)
    # One version for all: they are computed by one step.
    version = "-".join(declaration_digest(table, stream)[:8] for table in tables)

    @dg.multi_asset(
        name=stream_step(stream),
        specs=[
            table_spec(
                table, group=stream.name, kinds=KINDS, skippable=True, stream=stream, names=names
            ).replace_attributes(deps=topic_keys(stream, names))
            for table in tables
        ],
        pool=pool_of(stream),
        description=f"Lands the next range of topic {stream.topic} in {len(tables)} tables, exactly once.",
    )
    @names.resources
    def ingest_stream(
        context: dg.AssetExecutionContext, lake: dg.ResourceParam[Lake], spark: LakehouseSpark
    ) -> Iterator[dg.MaterializeResult[Any]]:
        attempt = attempt_of(context, lake.settings, step=f"ingest:{stream.name}", code_version=version)
        _make_tables(context, stream, lake, tables)
        report, unread = _ingest(context, stream, lake, spark, attempt)
        if report is not None and report.published is not None:
            totals = row_counts(lake, report.published)
            failpoint("dagster.before")
            declared = {lake.names.key(table.name) for table in tables}
            for result in ingest_results(report, report.published, lake, attempt, totals):
                if result.asset_key in declared:
                    yield result
                else:
                    context.log_event(made_table_event(result))
        if unread is not None:
            raise unread  # what could be read before it is published, and told
        if report is not None and report.published is not None:
            declarations = lake.declarations
            own = stream_tables(declarations.streams[stream.name], declarations)
            compact_tables(context, own, lake, spark, attempt)

    return ingest_stream


def _make_tables(context: dg.AssetExecutionContext, stream: Stream, lake: Lake, tables: Sequence[Table]) -> None:
    """Create the tables that are missing; one that the others go on without is the step's to stop, and to name."""
    for table in tables:
        try:
            created = lake.ensure([table.name])
        except LakehouseError as refusal:
            if not stops_alone(stream, table):
                raise
            context.log.warning(f"{table.name} stops alone: {refusal}")
        else:
            if created:
                context.log.info(f"created table {table.name}")


@repeated_when_spark_is_lost()
def _ingest(
    context: dg.AssetExecutionContext, stream: Stream, lake: Lake, spark: LakehouseSpark, attempt: Attempt
) -> tuple[IngestReport | None, OffsetsUnreadable | None]:
    """Run the step: what was published, and which offsets could not be read.

    Neither if another run has published the same records first, which is a good end and no error.
    """
    try:
        declarations = lake.declarations
        with step_progress(context.log.info) as inform:
            step = IngestStep(
                stream=declarations.streams[stream.name],
                declarations=declarations,
                catalog=lake.catalog,
                kafka=lake.kafka,
                limits=limits_of(lake.settings.ingest, stream),
                session=lambda: spark.session(f"ingest {stream.name}"),
                attempt=attempt,
                inform=inform,
            )
            return ingest(step), None
    except OffsetsUnreadable as unread:
        return unread.report, unread
    except Superseded as superseded:
        context.log.info(f"superseded, nothing to materialize: {superseded.message}")
        return None, None


def row_counts(lake: Lake, published: Published, sealed: Mapping[str, int] | None = None) -> dict[str, int]:
    """Table → rows that a reader sees, of published tables; one that nobody can count is left out.

    Args:
        lake: where they are.
        published: the snapshots.
        sealed: table → rows, where a seal says it, which spares a look at delete files.
    """
    tables: Sequence[IcebergTable] = list(
        lake.catalog.load_tables([identifier_of(name) for name in published.snapshots]).values()
    )
    counts: dict[str, int] = {}
    for table in tables:
        name = table_name(table)
        snapshot = table.metadata.snapshot_by_id(published.snapshots[name])
        # It may be expired already: then the newest one counts, which is what a reader sees.
        visible = snapshot or table.current_snapshot()
        rows = sealed[name] if sealed and name in sealed else row_count(table, visible.snapshot_id if visible else None)
        if rows is not None:
            counts[name] = rows
    return counts
