"""A stream without Kafka and Spark, on a disk that can be filled."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lakehouse.protocol.catalog import open_catalog
from lakehouse_tests.faults.small_disk import SmallDisk, mounted
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.proofs.audit.simulated import SimulatedStream


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """Eight MiB."""
    with mounted(tmp_path / "disk", mib=8) as disk:
        yield disk


@pytest.fixture
def events(small_disk: SmallDisk) -> Iterator[SimulatedStream]:
    """A stream whose catalog and tables are on the small disk, with records in it."""
    catalog = open_catalog(sql_settings(small_disk.folder))
    stream = SimulatedStream(catalog)
    stream.ingest({0: 20, 1: 10})
    yield stream
    catalog.close()
