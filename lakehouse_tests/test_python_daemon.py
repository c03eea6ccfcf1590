"""Python workers start from the installed packages, imported once, and a small task costs little."""

from collections.abc import Iterator

import pyarrow as pa
import pytest

from lakehouse.settings import Settings
from lakehouse.spark import spark_session
from lakehouse_tests.fixtures.spark import SparkOn


@pytest.mark.spark
@pytest.mark.parametrize("mode", ["classic", "connect"])
def test_workers_import_nothing_from_archives(request: pytest.FixtureRequest, mode: str) -> None:
    def look_around(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import gc
        import importlib
        import os
        import sys
        import time

        import pyspark

        for _ in batches:
            pass
        began = time.process_time()
        importlib.invalidate_caches()  # what Spark does before each task
        gc.collect()  # and after it
        seconds = time.process_time() - began
        columns = {
            "pyspark": [str(pyspark.__file__)],
            "archives": [" ".join(entry for entry in sys.path_importer_cache if entry.endswith(".jar"))],
            "frozen": [gc.get_freeze_count()],
            "daemon": [os.getppid()],
            "seconds": [seconds],
        }
        yield pa.RecordBatch.from_pydict(columns)

    settings: Settings = request.getfixturevalue("spark_settings" if mode == "classic" else "connect_settings")
    on: SparkOn = request.getfixturevalue("spark_on")
    schema = "pyspark string, archives string, frozen long, daemon long, seconds double"
    opened = on(settings.catalog) if mode == "classic" else spark_session(settings, app_name="test")
    with opened as session:
        rows = session.range(4, numPartitions=4).mapInArrow(look_around, schema).collect()
    assert len(rows) == 4
    for row in rows:
        assert ".zip" not in row.pyspark
        assert row.archives == ""
        assert row.frozen > 10_000
        assert row.seconds < 0.1
    assert len({row.daemon for row in rows}) == 1
