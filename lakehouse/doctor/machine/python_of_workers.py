"""Is the Python of Spark's workers the driver's? Rows and functions are pickled from one to the other."""

import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

from lakehouse.doctor.finding import Diagnosis, not_asked, well, wrong
from lakehouse.engines.spark.conf import is_local
from lakehouse.settings import Settings

_KEYS = ("spark.pyspark.python", "spark.executorEnv.PYSPARK_PYTHON")
_CHECK = "python on workers"


def python_of_workers(settings: Settings) -> Iterator[Diagnosis]:
    """By the interpreter that the platform's file or `PYSPARK_PYTHON` names, or by the archive that is unpacked."""
    conf, platform = settings.platform.conf, settings.platform
    workers = platform.workers
    archives = [text.split("#")[0] for text in conf.get("spark.archives", "").split(",") if text.strip()]
    archives += [workers.archive] if workers is not None and workers.archive is not None else []
    for archive in archives:
        yield from of_archive(Path(archive.removeprefix("file:").strip()))
    own = workers.python if workers is not None else None
    named = own or next((conf[key] for key in _KEYS if key in conf), os.environ.get("PYSPARK_PYTHON", ""))
    if named and Path(named).is_absolute() and not archives:
        yield of_interpreter(named, here=is_local(platform))
    elif not archives and not is_local(platform):
        yield not_asked(_CHECK, "which Python workers start is known only there; `lakehouse verify` runs on it")


def of_interpreter(path: str, *, here: bool) -> Diagnosis:
    """The version of an interpreter.

    Args:
        path: of the program.
        here: whether workers run on this machine.
    """
    try:
        answer = subprocess.run([path, "--version"], capture_output=True, text=True, check=False, timeout=20)
    except OSError:
        if here:
            return wrong(_CHECK, f"There is no {path}, which workers are to start.", "correct spark.pyspark.python")
        return not_asked(_CHECK, f"{path} is not on this machine")
    match = re.search(r"Python (\d+\.\d+)", answer.stdout + answer.stderr)
    return _compared(path, match[1] if match else "of an unknown version")


def of_archive(path: Path) -> Iterator[Diagnosis]:
    """The version of a packed environment (venv-pack, conda-pack), by its folder `lib/pythonX.Y`."""
    if not path.is_file():
        yield not_asked(_CHECK, f"{path} is not on this machine")
        return
    with tarfile.open(path) as archive:
        for member in archive:
            if match := re.match(r"(?:\./)?lib/python(\d+\.\d+)(/|$)", member.name):
                yield _compared(str(path), match[1])
                return
    yield wrong(_CHECK, f"{path} holds no environment of Python.", "pack it by venv-pack from the environment of here")


def _compared(where: str, version: str) -> Diagnosis:
    ours = f"{sys.version_info.major}.{sys.version_info.minor}"
    if version == ours:
        return well(_CHECK, f"{where} is Python {version}, as here")
    return wrong(
        _CHECK,
        f"{where} is Python {version}, and the driver is Python {ours}.",
        f"give the workers Python {ours}: pack this environment (venv-pack), or change spark.pyspark.python",
    )
