"""The process from which Spark forks its Python workers, with what each of them would otherwise do for itself.

Spark lets workers import PySpark from the archives that it ships. So each worker compiles all of it at its start, and,
as Spark drops the import caches before each task, reads the archives' directories anew for every package in them: two
seconds of CPU per worker and 0.1 s per task. After each task, the collector looks through all that was imported.

Here the installed PySpark, which the archives are a part of, takes their place, imports happen once before the fork,
and are put out of the collector's sight. Nothing of ours is imported: this module has to come before everything else.
"""

import gc
import importlib
import sys
from pathlib import Path

# What tasks of ours use. None of these starts a thread when it is imported, which a fork would lose.
_IMPORTED = (
    "msgspec",
    "numpy",
    "pandas",
    "pandera.pyspark",
    "pyarrow.compute",
    "pyarrow.parquet",
    "pyiceberg.io.pyarrow",
    "pyiceberg.table.metadata",
    "pyspark.sql.pandas.types",
    "pyspark.worker",
)


def prepare() -> None:
    """Do once what each worker would do."""
    for archive in [entry for entry in sys.path if _is_part_of_installed_pyspark(Path(entry))]:
        sys.path.remove(archive)
        sys.path_importer_cache.pop(archive, None)
    for name in _IMPORTED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


def _is_part_of_installed_pyspark(entry: Path) -> bool:
    """Whether it is an archive inside a PySpark that can be imported itself; another Spark's stays."""
    if entry.suffix not in {".zip", ".jar"}:
        return False
    return any(folder.name == "pyspark" and str(folder.parent) in sys.path for folder in entry.parents)


if __name__ == "__main__":
    prepare()
    importlib.import_module("pyspark.daemon").manager()  # and now what Spark's own does
