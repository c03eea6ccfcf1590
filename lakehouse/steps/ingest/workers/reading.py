"""Sends the plan to the workers, and again where records name schemas that were not known."""

from dataclasses import replace

from pyspark.sql import SparkSession

from lakehouse.settings import KafkaSettings
from lakehouse.steps.ingest.parquet_files import unsupported
from lakehouse.steps.ingest.report import WriteResult
from lakehouse.steps.ingest.workers.added_reports import add_up
from lakehouse.steps.ingest.workers.decoder_selection.schema_lookup import SchemaLookup
from lakehouse.steps.ingest.workers.lent_credentials import while_they_last
from lakehouse.steps.ingest.workers.scan import kafka_frame
from lakehouse.steps.ingest.workers.task_report import REPORT_SCHEMA, read_report
from lakehouse.steps.ingest.workers.work import IngestWork, make_task


def read_and_write(spark: SparkSession, kafka: KafkaSettings, work: IngestWork, *, min_partitions: int) -> WriteResult:
    """Read the planned range once and write it as data files. Nothing is committed here.

    Where records name schemas that were not known, it is read again with them, and what was written is removed.

    Raises:
        NoRegistry: records name their schemas, and the settings name no registry.
        RegistryUnavailable: the registry gives no answer.
        CredentialsEnded: the job outlived the credentials of its workers.
    """
    lookup = SchemaLookup.of(work.stream, kafka)
    if lookup is None:
        return _pass(spark, kafka, work, min_partitions=min_partitions)
    work = replace(work, schemas=lookup.first(work.stream, work.bases))
    while (result := _pass(spark, kafka, work, min_partitions=min_partitions)).unresolved:
        remove_written(work, result)
        work = replace(work, schemas=lookup.more(work.schemas or lookup.nothing, result.unresolved))
    texts = work.schemas.texts if work.schemas else {}
    return replace(result, writers={str(schema): text for schema, text in texts.items()})


def remove_written(work: IngestWork, result: WriteResult) -> None:
    """Remove the files of a reading that counts for nothing."""
    for name, base in work.bases.items():
        for path in (*(file.file_path for file in result.files.get(name, [])), *result.spooled.get(name, [])):
            if work.keep:
                base.table.io.delete(path)


def _pass(spark: SparkSession, kafka: KafkaSettings, work: IngestWork, *, min_partitions: int) -> WriteResult:
    beyond = {name for name, base in work.bases.items() if unsupported(base.table.metadata) is not None}
    frame = kafka_frame(spark, kafka, work.plan, min_partitions=min_partitions)
    with while_they_last(work.bases):
        task = make_task(work, beyond)
        rows = frame.mapInArrow(task.run, REPORT_SCHEMA).collect()  # pyright: ignore[reportArgumentType]
    reports = [read_report(row["report"]) for row in rows]
    return add_up(work, beyond, reports)
