"""Spark's configuration, in two parts: what a JVM must be started with, and what each session sets for itself.

The parts differ in when they apply. A session's part may be set on any live session, a stranger's Connect server
included, so that all sessions of one JVM can have catalogs of their own. No secret of ours is in the process's part.
"""

import os
from pathlib import Path

from lakehouse.engines.class_path import class_path
from lakehouse.engines.spark.catalog import catalog_conf
from lakehouse.engines.spark.connect.given_server import EXTENSIONS, WORKER_DAEMON
from lakehouse.settings import Platform, Settings
from lakehouse.settings.secret import revealed
from lakehouse.settings.state import make_private

# What Spark's own pattern leaves out, a REST catalog's `credential` above all, is redacted in its logs and pages too:
# whatever `settings/plain_secret.py` takes for the name of a secret.
REDACTED = (
    r"(?i)secret|passw|pwd|passphrase|token|access[._-]?key|credential|authorization|cookie|jaas|user[._-]?info"
    r"|connection[._-]?string|oauthbearer|keystore[.]key|key[.]pem"
    r"|(shared|account|api|private|encryption|decryption|signing|sse)[._-](account[._-])?key|shared-key"
)
_STATIC_SQL = {
    "spark.sql.catalogImplementation",
    "spark.sql.extensions",
    "spark.sql.redaction.string.regex",
    "spark.sql.warehouse.dir",
}
# No batch uses what another has read ahead, since each has consumers of its own. Spark keeps them for minutes all the
# same, with what they hold: 16 MiB and more a partition.
_FORGETFUL = {
    "spark.kafka.consumer.cache.timeout": "1s",
    "spark.kafka.consumer.cache.evictorThreadRunInterval": "1s",
    "spark.kafka.consumer.fetchedData.cache.timeout": "1s",
    "spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval": "1s",
}
_JOINED = (
    "spark.driver.extraClassPath",
    "spark.driver.extraJavaOptions",
    "spark.executor.extraJavaOptions",
    "spark.jars",
    "spark.sql.extensions",
)
ENVIRONMENT = "environment"  # the folder of an executor that a packed environment is unpacked into
# Kafka's Java client asks no other token endpoint than those that the JVM names, from version 4 on, and where it names
# any.
ALLOWED_URLS = "org.apache.kafka.sasl.oauthbearer.allowed.urls"


def spark_conf(settings: Settings) -> dict[str, str]:
    """Both parts together: what `spark-submit` would need to be told to run the same thing.

    It holds the catalog's secrets, so it belongs in a file that only its owner can read, never on a command line.

    Raises:
        JarMismatch: The JARs are not the locked ones.
    """
    return process_conf(settings) | session_conf(settings)


def process_conf(settings: Settings) -> dict[str, str]:
    """What the driver's JVM, or a Connect server of our own, is started with.

    Raises:
        JarMismatch: The JARs are not the locked ones.
    """
    platform, state = settings.platform, settings.state
    jars = class_path(settings)
    defaults = {
        "spark.master": platform.master or "local[*]",
        "spark.driver.extraClassPath": os.pathsep.join(map(str, jars)),
        "spark.ui.enabled": "false",
        "spark.log.level": "WARN",
        **_FORGETFUL,
        **_common_conf(settings),
    }
    if is_local(platform):
        scratch = scratch_folder(settings)
        defaults["spark.driver.extraJavaOptions"] += f" -Djava.io.tmpdir={_quoted(scratch)}"
        defaults |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.local.dir": str(scratch),
            "spark.python.daemon.module": WORKER_DAEMON,
            "spark.sql.warehouse.dir": (state.root / "tmp" / "spark-warehouse").as_uri(),
        }
    else:
        # Executors elsewhere get them from the driver. A local one shares its class path: twice would be copied twice.
        defaults["spark.jars"] = ",".join(map(str, jars))
        defaults |= _cluster_conf(platform)
    return _merged(defaults, fixed_conf(platform))


def service_conf(settings: Settings, archive: str | None = None) -> dict[str, str]:
    """What a driver that a service starts for us is started with. Master, JARs and sizes are that service's affair.

    It goes through the service's own interface, where others may read it: there is no secret in it.

    Args:
        settings: of the platform; what its file sets lies over ours.
        archive: a packed environment that driver and executors fetch, if there is one.
    """
    defaults = _common_conf(settings)
    if archive is not None:
        defaults["spark.archives"] = f"{archive}#{ENVIRONMENT}"
    return _merged(defaults, fixed_conf(settings.platform))


def _common_conf(settings: Settings) -> dict[str, str]:
    """What every driver of ours is started with, wherever it runs."""
    defaults = {
        "spark.sql.extensions": EXTENSIONS,
        "spark.sql.catalogImplementation": "in-memory",
        # Each step has a session of its own, and all run the same code: with class loaders of their own, each would
        # compile it anew, and the JVM compile that again. Of 100 classes a single step would leave few.
        "spark.sql.artifact.isolation.enabled": "false",
        "spark.sql.codegen.cache.maxEntries": "1000",
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
        "spark.redaction.regex": REDACTED,
        # PySpark asks the JVM eight more questions for each column and function, so that errors can name a line.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
    }
    endpoint = settings.kafka.properties.get("sasl.oauthbearer.token.endpoint.url")
    if isinstance(endpoint, str):
        option = f"-D{ALLOWED_URLS}={endpoint}"
        defaults["spark.driver.extraJavaOptions"] += f" {option}"
        if not is_local(settings.platform):
            defaults["spark.executor.extraJavaOptions"] = option
    return defaults


def _cluster_conf(platform: Platform) -> dict[str, str]:
    """What a cluster asks for. The key goes into the file that only its owner can read; Spark shows it nowhere."""
    conf: dict[str, str] = {}
    if platform.workers is not None and platform.workers.archive is not None:
        conf["spark.archives"] = f"{platform.workers.archive}#{ENVIRONMENT}"
    if platform.rpc_secret is not None:
        conf |= {
            "spark.authenticate": "true",
            "spark.authenticate.secret": revealed(platform.rpc_secret),
            "spark.network.crypto.enabled": "true",
        }
    return conf


def workers_python(platform: Platform) -> str | None:
    """The interpreter of workers on other machines; None where it is the platform's affair."""
    if platform.workers is None:
        return None
    return platform.workers.python or f"./{ENVIRONMENT}/bin/python"


def session_conf(settings: Settings) -> dict[str, str]:
    """What each session sets for itself: its catalogs and how SQL behaves. Looks up the catalogs' secrets."""
    defaults = {
        "spark.sql.session.timeZone": "UTC",
        # Also where the server's own pattern leaves out what a catalog calls its secrets.
        "spark.sql.redaction.options.regex": REDACTED,
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # mapInArrow hands over batches of this many rows. Each batch has a price in Python, so not too few.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
        **catalog_conf(settings.catalog),
    }
    for name, catalog in settings.other_catalogs.items():
        defaults |= catalog_conf(catalog, other=name)
    return defaults | {key: value for key, value in settings.platform.conf.items() if _is_session_key(key)}


def fixed_conf(platform: Platform) -> dict[str, str]:
    """What of the platform's file only the start of a JVM can set."""
    return {key: value for key, value in platform.conf.items() if not _is_session_key(key)}


def is_local(platform: Platform) -> bool:
    """Whether the executors are threads of the driver."""
    services = (platform.kubernetes, platform.emr_serverless, platform.glue)
    if platform.mode == "driver" or any(service is not None for service in services):
        return False
    return (platform.master or "local").startswith("local")


def scratch_folder(settings: Settings) -> Path:
    """Where Spark spills and unpacks, made where it is missing: under the state, not in the system's `/tmp`."""
    folder = settings.state.root / "tmp" / "spark"
    make_private(folder)
    return folder


def _is_session_key(key: str) -> bool:
    return key.startswith("spark.sql.") and key not in _STATIC_SQL


def _merged(defaults: dict[str, str], overrides: dict[str, str]) -> dict[str, str]:
    """The platform's file wins, except for lists, where it adds to ours."""
    merged = defaults | overrides
    for key in _JOINED:
        if key in defaults and key in overrides:
            separator = os.pathsep if key.endswith("ClassPath") else " " if key.endswith("JavaOptions") else ","
            merged[key] = f"{defaults[key]}{separator}{overrides[key]}"
    return merged


def _quoted(path: Path) -> str:
    return f'"{path}"' if " " in str(path) else str(path)
