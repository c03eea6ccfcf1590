"""A table of our own by Spark: its clients for catalog and storage are others than PyIceberg's, and told by other keys.

Where Spark starts, workers are compared with the driver: Python, packages of the lock, our code
(`engines/spark/worker_environment`).
"""

import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lakehouse.doctor.catalog.error_meanings import meaning
from lakehouse.doctor.catalog.scratch_table import PREFIX, drop_folder
from lakehouse.doctor.finding import Diagnosis, refused, well, wrong
from lakehouse.engines.spark import spark_session
from lakehouse.engines.spark.naming import quoted_name, quoted_text
from lakehouse.errors import LakehouseError
from lakehouse.settings import Settings

_CHECK = "spark"
_LOOK = "run `lakehouse verify --yes` with --verbose, whose log has the words of Spark"


def spark_storage(settings: Settings) -> Iterator[Diagnosis]:
    """Start Spark, and let it write, read, list and delete files of a table of our own."""
    try:
        with spark_session(settings, app_name="lakehouse doctor") as spark:
            yield well(_CHECK, f"it starts on the platform {settings.platform.name}, with workers like the driver")
            namespace = f"{PREFIX}{secrets.token_hex(4)}"
            yield _tried(spark, namespace)
            drop_folder(settings.catalog.warehouse, namespace)
    except LakehouseError as error:
        yield refused(_CHECK, error)
    except (PySparkException, Py4JError) as error:
        yield _refusal("start", error)


def _tried(spark: SparkSession, namespace: str) -> Diagnosis:
    place, table = quoted_name("lake", namespace), quoted_name("lake", namespace, "probe")
    listing = (
        f"CALL {quoted_name('lake')}.system.remove_orphan_files(table => {quoted_text(f'{namespace}.probe')}, "
        "dry_run => true, prefix_listing => true)"
    )
    doing: tuple[tuple[str, Callable[[], object]], ...] = (
        ("make a namespace", lambda: spark.sql(f"CREATE NAMESPACE {place}").collect()),
        ("make a table", lambda: spark.sql(f"CREATE TABLE {table} (n BIGINT) USING iceberg").collect()),
        ("write", lambda: spark.sql(f"INSERT INTO {table} VALUES (1)").collect()),
        ("read", lambda: spark.sql(f"SELECT n FROM {table}").collect()),
        ("list", lambda: spark.sql(listing).collect()),
        ("delete", lambda: spark.sql(f"DROP TABLE {table} PURGE").collect()),
        ("drop a namespace", lambda: spark.sql(f"DROP NAMESPACE {place}").collect()),
    )
    for number, (what, act) in enumerate(doing):
        try:
            act()
        except (PySparkException, Py4JError) as error:
            for statement in (f"DROP TABLE IF EXISTS {table} PURGE", f"DROP NAMESPACE IF EXISTS {place}")[: number * 2]:
                with suppress(PySparkException, Py4JError):  # what was refused is told already
                    spark.sql(statement).collect()
            return _refusal(what, error)
    return well(_CHECK, "files of a table were written, read, listed and deleted by its own FileIO")


def _refusal(doing: str, error: Exception) -> Diagnosis:
    known = meaning(str(error))
    if known is not None:
        return wrong(_CHECK, f"To {doing} failed in Spark. {known[0]}", known[1])
    return wrong(_CHECK, f"To {doing} failed in Spark ({type(error).__name__}).", _LOOK)
