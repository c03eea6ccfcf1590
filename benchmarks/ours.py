"""Ours, with every promise on: planned ranges, quarantine, seals, staged audit, one publish for all tables of a run."""

from pyspark.sql import SparkSession

from benchmarks.declared import CASES
from lakehouse.declarations import Declarations
from lakehouse.engines.spark import spark_session
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.settings import Settings
from lakehouse.steps.ingest.ingest_step import IngestStep
from lakehouse.steps.ingest.step import ingest


def answer(_: SparkSession, settings: Settings, case: str, namespace: str, topic: str, commit_records: int) -> None:
    """Ingest the whole topic."""
    ingest_all(settings, CASES[case].declarations(namespace, topic), commit_records)


def ingest_all(settings: Settings, declarations: Declarations, commit_records: int) -> None:
    """Run after run, each of at most so many records, until there is nothing new."""
    (stream,) = declarations.streams.values()
    catalog = open_catalog(settings.catalog)
    limits = settings.ingest.model_copy(update={"max_records_per_run": commit_records})
    number = 0
    while True:
        number += 1
        report = ingest(
            IngestStep(
                stream=stream,
                declarations=declarations,
                catalog=catalog,
                kafka=settings.kafka,
                limits=limits,
                session=lambda: spark_session(settings, app_name=stream.name),
                attempt=Attempt(run_id=f"{stream.name}-{number}", step=stream.name),
            )
        )
        if report.published is None:
            return
