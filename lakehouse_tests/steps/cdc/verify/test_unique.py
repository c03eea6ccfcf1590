"""A mirror has each key once."""

from typing import Any

import pytest

from lakehouse.protocol.catalog import open_catalog
from lakehouse.steps.cdc.evidence import read_evidence
from lakehouse.steps.cdc.verify.unique import check_keys
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.steps.cdc.mirrored import BIRDS, MirroredLake, Saved
from lakehouse_tests.steps.cdc.verify.test_counters import fill

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    folder = tmp_path_factory.mktemp("lake")
    made = MirroredLake(open_catalog(sql_settings(folder)))
    fill(made)
    return Saved(made, folder)


@pytest.fixture
def lake(filled: Saved) -> MirroredLake:
    return filled.again()


def test_keys_are_unique_and_those_that_are_not_are_named(lake: MirroredLake) -> None:
    def keys(**more: Any) -> Any:
        return check_keys(lake.tables, read_evidence(lake.catalog, lake.tables).mirror, **more)

    sound = keys()
    assert sound.holds
    assert sound.rows == 6
    rows = lake.rows()
    lake.tamper(BIRDS, [*rows, rows[0] | {"name": "twin"}, rows[0], rows[3]])
    for proof in (keys(), keys(per_pass=2)):
        assert (proof.repeated, proof.surplus, proof.rows) == (2, 3, 9)
        assert f"id={rows[0]['id']}: 3 rows" in proof.examples
