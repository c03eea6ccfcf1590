"""The rules of a changelog's row model, asked of the mirror's rows."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from lakehouse.declarations import Mirror
from lakehouse.protocol.catalog import open_catalog
from lakehouse.steps.cdc.evidence import read_evidence
from lakehouse.steps.cdc.verify.contract import check_contract
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.steps.cdc.mirrored import BIRDS, LOG, MirroredLake, insert

pytestmark = pytest.mark.slow


@pytest.fixture
def lake(tmp_path: Path) -> MirroredLake:
    mirror = Mirror(name=BIRDS, changelog=LOG, lateness=timedelta(seconds=10), target_lag=timedelta(minutes=5))
    return MirroredLake(open_catalog(sql_settings(tmp_path)), mirror)


def test_rules_of_the_row_model_are_counted_without_values(lake: MirroredLake) -> None:
    lake.ingest(insert(1, 1), insert(2, 2, weight=-31.5), insert(3, 3, name=None), insert(4, 4, weight=None))
    lake.apply()
    proof = check_contract(lake.tables, read_evidence(lake.catalog, lake.tables).mirror)
    assert proof.rows == 4
    assert {(verdict.rule.split(":")[0], verdict.broken) for verdict in proof.broken} == {("weight", 1), ("name", 1)}
    assert proof.blocking
    assert "31.5" not in str(proof)
    mirror = read_evidence(lake.catalog, lake.tables).mirror
    assert check_contract(lake.tables, replace(mirror, snapshot_id=None)).rows == 0
