"""Changes that a mirror has still to take: how many, and since when."""

from datetime import timedelta
from pathlib import Path

import pytest

from lakehouse.declarations import Mirror
from lakehouse.protocol.catalog import open_catalog
from lakehouse.steps.cdc.evidence import read_evidence
from lakehouse.steps.cdc.verify.backlog import backlog
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.steps.cdc.mirrored import BIRDS, LOG, MirroredLake, insert

pytestmark = pytest.mark.slow


@pytest.fixture
def lake(tmp_path: Path) -> MirroredLake:
    mirror = Mirror(name=BIRDS, changelog=LOG, lateness=timedelta(seconds=10), target_lag=timedelta(minutes=5))
    return MirroredLake(open_catalog(sql_settings(tmp_path)), mirror)


def test_what_waits_is_counted_with_its_age(lake: MirroredLake) -> None:
    lake.ingest(insert(1, 1))
    lake.apply()
    seen = backlog(read_evidence(lake.catalog, lake.tables))
    assert (seen.waiting, seen.oldest) == (0, None)
    assert seen.published is not None
    assert seen.from_kafka is not None
    assert seen.from_kafka > timedelta(0)
    lake.ingest(insert(2, 2), insert(3, 3, partition=1))
    first = lake.arrived - timedelta(seconds=1)
    lake.ingest(insert(4, 4))
    seen = backlog(read_evidence(lake.catalog, lake.tables))
    assert (seen.waiting, seen.oldest) == (3, first)
    assert seen.age(first + timedelta(minutes=1)) == timedelta(minutes=1)


def test_before_the_first_run_everything_waits(lake: MirroredLake) -> None:
    lake.ingest(insert(1, 1), insert(2, 2))
    assert backlog(read_evidence(lake.catalog, lake.tables)).waiting == 2
