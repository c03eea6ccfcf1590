"""One position, one change; late is told; and how far behind the mirror is."""

from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest

from lakehouse.declarations import Mirror
from lakehouse.orchestration.checks.mirror.ordering import order_result
from lakehouse.protocol.catalog import open_catalog
from lakehouse.steps.cdc.evidence import read_evidence
from lakehouse.steps.cdc.verify.ordering import OrderProof, check_order
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.steps.cdc.mirrored import BIRDS, LOG, MirroredLake, change, insert

pytestmark = pytest.mark.slow


@pytest.fixture
def lake(tmp_path: Path) -> MirroredLake:
    mirror = Mirror(name=BIRDS, changelog=LOG, lateness=timedelta(seconds=10), target_lag=timedelta(minutes=5))
    return MirroredLake(open_catalog(sql_settings(tmp_path)), mirror)


def order(lake: MirroredLake, limit: int | None = None) -> OrderProof:
    return check_order(lake.tables, read_evidence(lake.catalog, lake.tables), limit=limit)


def test_nothing_consumed_is_in_order(lake: MirroredLake) -> None:
    lake.ingest(insert(1, 1))
    proof = order(lake)
    assert proof.holds
    assert proof.in_time
    assert proof.looked_at == "nothing"


def test_duplicates_are_counted_and_lateness_is_measured_by_partition(lake: MirroredLake) -> None:
    lake.ingest(insert(5, 1), insert(9, 2), insert(5, 1), insert(2, 3, partition=1), change("read", 0, 4))
    lake.apply()
    proof = order(lake)
    assert (proof.changes, proof.duplicates, proof.contradictions, proof.out_of_order) == (5, 1, 0, 1)
    assert proof.latest == timedelta(seconds=4)
    assert proof.in_time
    lake.ingest(insert(40, 5), insert(29, 6))
    lake.apply()
    late = order(lake)
    assert (late.latest, late.in_time, late.holds) == (timedelta(seconds=11), False, True)


def test_a_contradiction_has_to_be_in_quarantine(lake: MirroredLake) -> None:
    other = insert(5, 1, name="impostor", song="secret")
    lake.ingest(insert(5, 1), other, insert(6, 2))
    lake.apply()
    proof = order(lake)
    assert not proof.holds
    assert proof.examples == ("id=1 at 0/5/0: 2 different changes (partition 0 offset 0, partition 0 offset 1)",)
    assert "secret" not in str(proof)


def test_a_refused_contradiction_is_none(lake: MirroredLake) -> None:
    other = insert(5, 1, name="impostor")
    lake.ingest(insert(5, 1), other)
    lake.apply(other)
    proof = order(lake)
    assert proof.holds
    assert (proof.refused, proof.duplicates) == (1, 0)


def test_a_contradiction_that_newer_changes_made_void_is_only_counted(lake: MirroredLake) -> None:
    lake.ingest(insert(5, 1), insert(9, 1))
    lake.apply()
    lake.ingest(insert(5, 1, name="impostor"))
    lake.apply()
    proof = order(lake)
    assert proof.holds
    assert proof.void == 1


def test_an_insert_of_a_key_that_is_there_is_reported(lake: MirroredLake) -> None:
    """Two equal rows of a table without a key: one in the mirror, and none after the next delete."""
    lake.ingest(insert(5, 1), insert(6, 1))
    lake.apply()
    proof = order(lake)
    assert (proof.onto_live, proof.live_examples) == (1, ("id=1 (partition 0 offset 1)",))
    result = order_result(proof, dg.AssetKey("birds"))
    assert (result.passed, result.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert str(result.description).startswith("1 inserts are of keys that were there already: the declared key is not")


def test_of_many_changes_the_newest_runs_are_looked_at(lake: MirroredLake) -> None:
    for number in range(1, 7):
        lake.ingest(insert(number, number), insert(100 + number, number, partition=1))
        lake.apply()
    proof = order(lake, limit=5)
    assert (proof.changes, proof.looked_at) == (4, "the changes of the newest 2 runs")
    assert order(lake, limit=0).changes == 2
    assert order(lake).looked_at == "every change since the build began"
