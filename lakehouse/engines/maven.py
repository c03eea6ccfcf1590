"""Maven, which brings what a pom asks for: called once for each lock, and shown while it works."""

import re
import shutil
import subprocess
from collections.abc import Collection
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from lakehouse.errors import LakehouseError
from lakehouse.settings.storage_refusal import refusal_in

COPY_DEPENDENCIES = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
REMEDY = "install the package `maven`, or set LAKEHOUSE_JARS to a folder that holds the locked JARs."


class JarsNotFetched(LakehouseError):
    """Maven is missing, or could not bring the JARs."""


def has_maven() -> bool:
    """Whether Maven is installed."""
    return shutil.which("mvn") is not None


def copy_dependencies(pom: Path, folder: Path, names: Collection[str], console: Console) -> None:
    """Have Maven copy the runtime dependencies of a pom into a folder.

    Args:
        pom: the Maven project.
        folder: where the JARs go.
        names: of the JARs that are expected, for the progress that is shown.
        console: where it is shown.

    Raises:
        JarsNotFetched: Maven is missing or failed.
    """
    mvn = shutil.which("mvn")
    if mvn is None:
        raise JarsNotFetched("Maven (mvn) is not installed.", remedy=REMEDY)
    command = [mvn, "-B", "-f", str(pom), COPY_DEPENDENCIES, "-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
    tail: list[str] = []
    with (
        _progress(console) as progress,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as maven,
    ):
        assert maven.stdout is not None
        task = progress.add_task(f"JARs of {pom.parent.name}", total=len(names), file="resolving")
        for line in map(str.rstrip, maven.stdout):
            tail = [*tail[-19:], line]
            if file := re.search(r"(Downloading|Downloaded) from \S+ \S*/(\S+)", line):
                progress.update(task, advance=file[1] == "Downloaded" and file[2] in names, file=file[2])
        if maven.wait() == 0:
            progress.update(task, completed=len(names), file="")
    if maven.returncode != 0:
        errors = [line for line in tail if line.startswith("[ERROR]")] or tail
        raise JarsNotFetched(
            f"Maven could not bring the JARs of {pom}: {errors[0] if errors else 'it said nothing'}",
            remedy=_remedy("\n".join(errors), folder),
        )


def _remedy(errors: str, folder: Path) -> str:
    if (refusal := refusal_in(errors)) is not None:
        disk = f"the disk of {folder}, or of Maven's own repository (~/.m2), {refusal}"
        return f"{disk}: make room, or let this user write there; or set LAKEHOUSE_HOME to another disk."
    return "most often it is the network, or a mirror that is missing in Maven's settings.xml."


def _progress(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[file]}", markup=False),
        console=console,
    )
