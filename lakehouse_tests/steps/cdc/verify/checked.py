"""A mirror that was filled once, and what a check of it says."""

from typing import Any

import pytest

from lakehouse.protocol.catalog import open_catalog
from lakehouse.steps.cdc.verify.verify import FoldProof, check_fold
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.steps.cdc.mirrored import MirroredLake, Saved
from lakehouse_tests.steps.cdc.mirrored_rows import change, insert


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    """Twelve birds in three runs: some renamed, one gone, one gone and back, one partly sent."""
    folder = tmp_path_factory.mktemp("lake")
    made = MirroredLake(open_catalog(sql_settings(folder)))
    fill(made)
    return Saved(made, folder)


@pytest.fixture
def lake(filled: Saved) -> MirroredLake:
    return filled.again()


def fill(lake: MirroredLake) -> None:
    lake.ingest(*(insert(n, n, partition=n % 2) for n in range(1, 11)))
    lake.apply()
    lake.ingest(
        change("update", 20, 1, name="robin", weight=2.0, without=("song",), partition=1),
        change("delete", 21, 2),
        change("tombstone", None, 2),
        change("delete", 22, 3, partition=1),
        insert(23, 3, name="wren", partition=1),
        insert(4, 4),  # as before: a duplicate
    )
    lake.apply()
    lake.ingest(insert(31, 11, partition=1), insert(32, 12), change("update", 33, 5, name="owl", partition=1))
    lake.apply()


def check(lake: MirroredLake, **more: Any) -> FoldProof:
    return check_fold(lake.catalog, lake.tables, **more)
