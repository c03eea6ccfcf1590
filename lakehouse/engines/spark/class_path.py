"""The JARs of a Spark driver: its own, and those that its catalog and storage need; Iceberg's first."""

from pathlib import Path

from lakehouse.engines.jars import verified_jars
from lakehouse.settings import Settings
from lakehouse.settings.catalogs.storage import JarSet, jar_sets
from lakehouse.settings.shipped import locked_jars


def sets_of(settings: Settings) -> tuple[JarSet, ...]:
    """The sets of JARs beside Spark's own that the catalog asks for; each is a folder of `conf/jars/`."""
    return jar_sets(settings.catalog.file_storage, settings.catalog.address)


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
