"""The JARs of a Spark driver: its own, and those that its catalog and storage need; Iceberg's first."""

import os
import re
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from lakehouse.engines.jars import read_lock, verified_jars
from lakehouse.settings import CatalogSettings, Settings
from lakehouse.settings.catalogs.storage import JarSet, jar_sets
from lakehouse.settings.secret import LateSecret
from lakehouse.settings.shipped import locked_jars

# By what a set's JARs are known, whatever their version.
_ARTIFACTS: Mapping[JarSet, str] = MappingProxyType(
    {
        "aws": "iceberg-aws-bundle",
        "gcp": "iceberg-gcp-bundle",
        "azure": "iceberg-azure-bundle",
        "postgresql": "postgresql-",
    }
)
_OWN_PATHS = ("spark.jars", "spark.driver.extraClassPath")


def sets_of(settings: Settings) -> tuple[JarSet, ...]:
    """The sets of JARs beside Spark's own that the catalogs ask for; each is a folder of `conf/jars/`.

    One whose JAR the user brings, by a lock or by the platform's file, is left out: no JAR is loaded twice.

    Raises:
        JarMismatch: the lock of Spark's JARs is missing or damaged.
    """
    # Of another SQL catalog Spark reads the files alone.
    others = (jar_sets(catalog.file_storage, "") for catalog in settings.other_catalogs.values())
    own = jar_sets(settings.catalog.file_storage, _without_secrets(settings.catalog))
    wanted: dict[JarSet, None] = {kind: None for kinds in (own, *others) for kind in kinds}
    if not wanted:
        return ()
    paths = (re.split(rf"[,{os.pathsep}]", settings.platform.conf.get(key, "")) for key in _OWN_PATHS)
    names = [
        *read_lock(locked_jars(settings.conf, "jars") / "jars.sha256"),
        *(Path(path).name for path in chain(*paths)),
    ]
    return tuple(kind for kind in wanted if not any(name.startswith(_ARTIFACTS[kind]) for name in names))


def _without_secrets(catalog: CatalogSettings) -> str:
    """The catalog's address without its secrets, which JARs do not depend on; whole, where all of it is one."""
    if not isinstance(catalog.uri, LateSecret):
        return catalog.address
    text = "".join(part for kind, part in catalog.uri.parts() if kind == "text")
    return text if ":" in text else catalog.address


def class_path(settings: Settings) -> list[Path]:
    """All JARs of the driver, verified.

    Iceberg's come first: what it brings of its own is then what is loaded, whatever else has a class of that name.

    Raises:
        JarMismatch: The JARs are not the locked ones.
    """
    jars = [
        jar for name in ("jars", *(f"jars/{name}" for name in sets_of(settings))) for jar in _verified(settings, name)
    ]
    return sorted(jars, key=lambda jar: not jar.name.startswith("iceberg-spark-runtime"))


def _verified(settings: Settings, project: str) -> list[Path]:
    folder = "spark" if project == "jars" else Path(project).name
    return verified_jars(locked_jars(settings.conf, project) / "jars.sha256", settings.state.jars / folder)
