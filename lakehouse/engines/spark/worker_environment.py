"""The Python of Spark's workers, compared with the driver's: minor version, packages of the lock, our own code.

Tasks of ours are sent by name, and a worker imports them. One with other packages, or with another version of our
code, would write files that the driver did not plan. Workers of this machine are forked from our own environment.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module

import msgspec
import pyarrow as pa
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lakehouse.errors import LakehouseError

# What tasks import. PySpark and Py4J are Spark's own there; what only the driver needs may be missing.
PACKAGES = (
    "confluent-kafka",
    "fastavro",
    "mmh3",
    "msgspec",
    "numpy",
    "pandas",
    "pandera",
    "polars",
    "pyarrow",
    "pydantic",
    "pyiceberg",
    "pyiceberg-core",
    "sqlalchemy",
    "structlog",
    "tenacity",
)
_TASKS = 8  # so that several workers answer, where there are several
_ENDINGS = {
    "PYTHON_VERSION_MISMATCH": "their Python is of another minor version than the driver's",
    "Cannot run program": "their Python cannot be started",
    "ModuleNotFoundError: No module named 'pyarrow'": "their Python has no pyarrow",
}
_REMEDY = (
    "let `workers` in the platform's file name a packed environment or a Python of the same lock "
    "(docs/how-to/platforms.md); a given server has to bring it."
)


class WorkersDiffer(LakehouseError):
    """Spark's workers have another Python, other packages or other code of ours than the driver."""


@dataclass(frozen=True)
class PythonEnvironment:
    """What a Python process of ours is made of.

    Args:
        host: the machine.
        python: its version, `3.11`.
        packages: name → version, of those in `PACKAGES` that are installed.
        code: digest of our package's modules; empty where it cannot be imported.
    """

    host: str
    python: str
    packages: dict[str, str]
    code: str

    @property
    def digest(self) -> str:
        """A short name for the packages, as the lock has them."""
        lines = "\n".join(f"{name}=={version}" for name, version in sorted(self.packages.items()))
        return hashlib.sha256(f"{self.python}\n{lines}".encode()).hexdigest()[:12]


def environment_json(packages: Sequence[str]) -> bytes:
    """This process's environment, as JSON. It runs where nothing of ours can be imported, so it imports for itself."""
    import hashlib
    import json
    import socket
    import sys
    from importlib.metadata import PackageNotFoundError, version
    from importlib.util import find_spec
    from pathlib import Path

    installed = {}
    for name in packages:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            continue
    spec, code = find_spec("lakehouse"), hashlib.sha256()
    folder = Path(spec.origin).parent if spec is not None and spec.origin else None
    if folder is not None:
        for file in sorted(folder.rglob("*.py")):
            if file.relative_to(folder).parts[0] != "shipped":
                code.update(f"{file.relative_to(folder)}\n".encode() + file.read_bytes())
    return json.dumps(
        {
            "host": socket.gethostname(),
            "python": f"{sys.version_info[0]}.{sys.version_info[1]}",
            "packages": installed,
            "code": code.hexdigest()[:12] if folder is not None else "",
        }
    ).encode()


def this_environment() -> PythonEnvironment:
    """The driver's own."""
    return msgspec.json.decode(environment_json(PACKAGES), type=PythonEnvironment)


def require_same_workers(session: SparkSession) -> None:
    """Have a few tasks say what they run in, and compare it with this process. One small job.

    Raises:
        WorkersDiffer: names the machine, and each package with both versions.
    """
    try:
        environments = _of_workers(session)
    except PySparkException as error:
        for sign, meaning in _ENDINGS.items():
            if sign in str(error):
                raise WorkersDiffer(f"Spark's workers cannot run our tasks: {meaning}.", remedy=_REMEDY) from error
        raise
    driver = this_environment()
    for worker in environments:
        if differing := differences(driver, worker):
            raise WorkersDiffer(
                f"Spark's worker on {worker.host} is not as the driver: {'; '.join(differing)}.", remedy=_REMEDY
            )


def differences(driver: PythonEnvironment, worker: PythonEnvironment) -> list[str]:
    """In what a worker differs, in words; empty if in nothing that matters."""
    differing = [] if driver.python == worker.python else [f"Python {worker.python} there, {driver.python} here"]
    if driver.digest != worker.digest:
        differing.append(f"packages of digest {worker.digest} there, {driver.digest} here")
        differing += [
            f"{name} {worker.packages.get(name, 'missing')} there, {version} here"
            for name, version in sorted(driver.packages.items())
            if worker.packages.get(name) != version
        ]
    if not worker.code:
        differing.append("the package lakehouse is missing there")
    elif driver.code != worker.code:
        differing.append(f"modules of lakehouse with digest {worker.code} there, {driver.code} here")
    return differing


def _of_workers(session: SparkSession) -> list[PythonEnvironment]:
    packages, measure = PACKAGES, environment_json

    def answers(_: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow

        yield pyarrow.RecordBatch.from_pydict({"environment": [measure(packages).decode()]})

    module = import_module(__name__)
    cloudpickle.register_pickle_by_value(module)  # by name the function would need what it is to look for
    try:
        rows = session.range(0, _TASKS, 1, _TASKS).mapInArrow(answers, "environment string").distinct().collect()
    finally:
        cloudpickle.unregister_pickle_by_value(module)
    return [msgspec.json.decode(row["environment"], type=PythonEnvironment) for row in rows]
