"""Ours, with every promise on: planned ranges, quarantine, seals, staged audit, one publish for all tables of a run."""

from pyspark.sql import SparkSession

from benchmarks.declared import CASES
from lakehouse.catalog import open_catalog
from lakehouse.commit import Attempt
from lakehouse.ingest.step import IngestStep, ingest
from lakehouse.settings import Settings
from lakehouse.spark import spark_session


def answer(_: SparkSession, settings: Settings, case: str, namespace: str, topic: str, commit_records: int) -> None:
    """Run after run, each of at most so many records, until there is nothing new."""
    declarations = CASES[case].declarations(namespace, topic)
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
                session=lambda: spark_session(settings, app_name=namespace),
                attempt=Attempt(run_id=f"{namespace}-{number}", step=stream.name),
            )
        )
        if report.published is None:
            return
