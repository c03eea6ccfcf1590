"""The Java of this machine: Spark and the local broker are started with it."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from lakehouse.errors import LakehouseError

OLDEST = 17
REMEDY = "install `openjdk-17-jdk-headless`"


class JavaUnusable(LakehouseError):
    """There is no Java, or it is older than Spark wants it."""


def java_command() -> str:
    """The path of `java`: that of `JAVA_HOME`, where it is set.

    Raises:
        JavaUnusable: there is none.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if java is None:
        raise JavaUnusable(f"No Java found{f' in JAVA_HOME ({home})' if home else ''}.", remedy=REMEDY)
    return java


def require_java() -> None:
    """Ask Java which one it is.

    Raises:
        JavaUnusable: there is none, or it is too old.
    """
    java = java_command()
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    version = re.search(r'version "(?:1\.)?(\d+)', answer.stderr)
    if version is None or int(version[1]) < OLDEST:
        raise JavaUnusable(
            f"{java} is Java {version[1] if version else 'of an unknown version'}, and Spark needs {OLDEST} or later.",
            remedy=f"{REMEDY}, or set JAVA_HOME",
        )
