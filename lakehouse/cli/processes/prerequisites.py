"""What has to be on a machine before Spark or a broker of our own can start: Java, and the locked JARs."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Console

from lakehouse.engines.class_path import sets_of
from lakehouse.engines.jars import JarMismatch, fetch_jars, verified_jars
from lakehouse.engines.java import JavaUnusable, require_java
from lakehouse.engines.maven import REMEDY, has_maven
from lakehouse.errors import LakehouseError
from lakehouse.settings import Settings
from lakehouse.settings.shipped import locked_jars

SETS = {"jars": "spark", "broker": "broker"}  # folder of the lock → folder of the JARs, in the state


def jar_projects(settings: Settings) -> list[str]:
    """Folders of the locks that Spark needs: its own, and one for each storage or database that its catalog is in."""
    return ["jars", *(f"jars/{name}" for name in sets_of(settings))]


def _folder(settings: Settings, project: str) -> Path:
    return settings.state.jars / SETS.get(project, Path(project).name)


class PrerequisiteMissing(LakehouseError):
    """There is no Java, nor a way to the JARs."""


def bring_prerequisites(settings: Settings, console: Console, *, broker: bool = True) -> None:
    """Fetch the JARs that are not there yet; does nothing where neither Spark nor a broker is ours to start.

    Args:
        settings: which platform and broker.
        console: where progress is shown.
        broker: whether the broker is wanted.

    Raises:
        JavaUnusable: there is no Java, or it is too old.
        PrerequisiteMissing: there is neither Java, nor the JARs, nor a way to them.
        JarsNotFetched: Maven is missing or failed.
        JarMismatch: what was brought is not what the lock says.
    """
    wanted = [
        *(jar_projects(settings) if settings.platform.master is not None else []),
        *(["broker"] * (broker and settings.kafka.local)),
    ]
    if not wanted:
        return
    absent = list(_absent(settings, wanted))
    try:
        require_java()
    except JavaUnusable as error:
        if absent and settings.jars is None and not has_maven():
            raise PrerequisiteMissing(
                f"{error.message} The JARs are not there either, nor is Maven, which would fetch them.",
                remedy=f"{error.remedy}; {REMEDY}",
            ) from None
        raise
    for project in absent:
        bring_jars(settings, project, console)


def bring_jars(settings: Settings, project: str, console: Console) -> int:
    """Fetch one set of JARs, unless it is there, and verify it.

    Args:
        settings: where the lock, the JARs and their source are.
        project: a key of `SETS`, or one of `jar_projects`.
        console: where progress is shown.

    Returns:
        How many JARs it has.
    """
    lock = locked_jars(settings.conf, project)
    folder = _folder(settings, project)
    return len(
        fetch_jars(lock / "pom.xml", folder, lock / "jars.sha256", source=settings.jars, console=console),
    )


def _absent(settings: Settings, projects: Iterable[str]) -> Iterator[str]:
    for project in projects:
        try:
            verified_jars(locked_jars(settings.conf, project) / "jars.sha256", _folder(settings, project))
        except JarMismatch:
            yield project
