"""What a Spark Connect server that somebody else has started must bring, because no session can set it there.

A server of our own is started with `process_conf`. On another one each of these settings has another way, or is named:

| setting | on a given server |
|---|---|
| Iceberg's and Kafka's JARs, Iceberg's extensions | asked for; a server without them is refused |
| `spark.redaction.regex` | each session sets `spark.sql.redaction.options.regex` instead |
| `spark.python.daemon.module` | Spark's own daemon: each new worker imports for itself, some two seconds |
| any other that the platform's file sets | refused, unless the server has the same value |
"""

from collections.abc import Callable, Iterator, Mapping

import pyspark
import structlog
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lakehouse.errors import LakehouseError
from lakehouse.settings import Platform

EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
WORKER_DAEMON = "lakehouse.engines.worker_daemon"
_DAEMON = "spark.python.daemon.module"
_log = structlog.get_logger(__name__)


class ServerUnfit(LakehouseError):
    """A given Spark Connect server lacks something that only its start can set."""


def is_given(platform: Platform) -> bool:
    """Whether the platform is a Connect server that we do not start ourselves."""
    return platform.mode == "connect" and platform.master is None


def require_fit(session: SparkSession, platform: Platform, fixed: Mapping[str, str]) -> None:
    """Insist that a given server has what steps need; what it does slower than ours is logged.

    Args:
        session: on that server, with the catalog `lake` configured.
        platform: its settings.
        fixed: what the platform's file sets that no session can.

    Raises:
        ServerUnfit: names everything that is missing, and how the server is to be started.
    """

    def setting(key: str) -> str | None:
        return session.conf.get(key, None)

    problems = [*unfit_settings(setting, session.version, fixed), *_missing_jars(session)]
    if problems:
        raise ServerUnfit(
            f"Spark of platform {platform.name!r} does not fit: {'; '.join(problems)}.",
            remedy="have it started with these (docs/how-to/platforms.md has the whole list), or choose another.",
        )
    if setting(_DAEMON) != WORKER_DAEMON:
        _log.info("workers_import_for_themselves", platform=platform.name, remedy=f"{_DAEMON}={WORKER_DAEMON}")


def unfit_settings(setting: Callable[[str], str | None], version: str, fixed: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with a server's settings; pure.

    Args:
        setting: what the server has for a key; None if it has nothing.
        version: of Spark, there.
        fixed: key → the value that the platform's file asks for.
    """
    if version.split(".")[:2] != pyspark.__version__.split(".")[:2]:
        yield f"it is Spark {version}, and PySpark here is {pyspark.__version__}"
    if EXTENSIONS not in (setting("spark.sql.extensions") or "").split(","):
        yield f"spark.sql.extensions has no {EXTENSIONS}"
    for key, wanted in sorted(fixed.items()):
        if (present := setting(key)) != wanted:
            # The value is not repeated: who has set it there may have had a secret in it.
            yield f"{key} is {'another' if present is not None else 'not set'} there, and no session can set it"


def _missing_jars(session: SparkSession) -> Iterator[str]:
    try:
        session.sql("SELECT lake.system.iceberg_version()").collect()
    except PySparkException as error:
        if not _is_missing_class(error):
            raise
        yield "it has no JAR of Iceberg"
    topic = session.read.format("kafka").option("kafka.bootstrap.servers", "127.0.0.1:1").option("subscribe", "none")
    try:
        _ = topic.load().schema  # asks no broker
    except PySparkException as error:
        if not _is_missing_class(error):
            raise
        yield "it has no JAR of Spark's source for Kafka"


def _is_missing_class(error: PySparkException) -> bool:
    text = str(error)
    return any(sign in text for sign in ("DATA_SOURCE_NOT_FOUND", "Cannot find catalog plugin class", "ClassNotFound"))
