"""The JARs of Spark: whole, of versions that fit, and none of Iceberg's runtime twice."""

import os
import re
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from lakehouse.doctor.finding import Diagnosis, refused, well, wrong
from lakehouse.engines.class_path import class_path
from lakehouse.engines.jars import JarMismatch
from lakehouse.settings import Settings

_RUNTIME = re.compile(r"iceberg-spark-runtime-(\d+\.\d+)_2\.\d+-.*\.jar")
_PACKAGES = "spark.jars.packages"


def jar_files(settings: Settings) -> Iterator[Diagnosis]:
    """Where Spark's JVM is ours to start."""
    if settings.platform.master is None:
        return
    try:
        jars = class_path(settings)
    except JarMismatch as error:
        yield refused("jars", error)
        jars = []
    else:
        yield well("jars", f"{len(jars)} JARs are what their locks say")
    runtimes = [path for path in (*jars, *_others(settings)) if _RUNTIME.fullmatch(path.name)]
    yield from twice(runtimes, settings.platform.conf.get(_PACKAGES, ""))
    yield from versions(runtimes, metadata.version("pyspark"))


def twice(runtimes: list[Path], packages: str) -> Iterator[Diagnosis]:
    """Iceberg's runtime is loaded once: of two, one class may come from either.

    Args:
        runtimes: its JARs, wherever they lie.
        packages: what the platform's file has Spark bring.
    """
    places = [
        *dict.fromkeys(str(path) for path in runtimes),
        *re.findall(r"[^,\s]*iceberg-spark-runtime[^,\s]*", packages),
    ]
    if len(places) > 1:
        yield wrong(
            "jars",
            f"Iceberg's runtime is on the class path {len(places)} times: {', '.join(places)}.",
            "keep one: remove the other from Spark's folder jars/, or from spark.jars, spark.jars.packages and "
            "spark.driver.extraClassPath of the platform's file",
        )


def versions(runtimes: list[Path], spark: str) -> Iterator[Diagnosis]:
    """Iceberg's runtime is made for the Spark that is installed.

    Args:
        runtimes: its JARs.
        spark: PySpark's version.
    """
    minor = ".".join(spark.split(".")[:2])
    for path in runtimes:
        match = _RUNTIME.fullmatch(path.name)
        if match is not None and match[1] != minor:
            yield wrong(
                "versions",
                f"{path.name} is made for Spark {match[1]}, and PySpark is {spark}.",
                f"install PySpark {match[1]}, or lock the runtime of Spark {minor} in conf/jars",
            )


def _others(settings: Settings) -> Iterator[Path]:
    """JARs that Spark loads and that we have not brought."""
    conf = settings.platform.conf
    for text in conf.get("spark.jars", "").split(","):
        yield Path(text.strip())
    for text in conf.get("spark.driver.extraClassPath", "").split(os.pathsep):
        path = Path(text.strip())
        yield from path.parent.glob("*.jar") if path.name == "*" else [path]
    spec = find_spec("pyspark")
    homes = [os.environ.get("SPARK_HOME"), *(spec.submodule_search_locations or [] if spec else [])]
    for home in dict.fromkeys(filter(None, homes)):
        yield from Path(home, "jars").glob("iceberg-*.jar")
