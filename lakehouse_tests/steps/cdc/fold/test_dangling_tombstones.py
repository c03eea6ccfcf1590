"""A tombstone without position, in a run of its own: it deletes what its partition said last, also what went since."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lakehouse.declarations import Changelog, Mirror
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.cdc.changelog_cleanup.checkpoint import make_checkpoint
from lakehouse.steps.cdc.changelog_cleanup.retire import retire_changelog
from lakehouse.steps.cdc.step import MirrorStep, mirror
from lakehouse.steps.cdc.verify.verify import check_fold
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.steps.cdc.mirrored import BEGAN, BIRDS, LOG, ROW, MirroredLake, Row, change, insert

pytestmark = pytest.mark.spark

_DAY = timedelta(days=1)
_BORN, _GONE, _ANEW = insert(1, 6), change("delete", 2, 6), insert(3, 6, name="anew")
_TOMBSTONE = change("tombstone", None, 6)


def _lake(folder: Path, **mirror: Any) -> MirroredLake:
    log = Changelog(name=LOG, topic="birds", row=ROW, key=("id",), description="Birds.", owner="tests", retention=_DAY)
    return MirroredLake(open_catalog(sql_settings(folder)), Mirror(name=BIRDS, changelog=LOG, **mirror), log)


def _retire(lake: MirroredLake) -> int:
    """Checkpoint, and remove all that is not needed; how many changes."""
    make_checkpoint(lake.catalog, lake.tables)
    attempt, now = Attempt(run_id="retention", step="retire:birds"), BEGAN + _DAY + timedelta(seconds=1000)
    retired = retire_changelog(lake.catalog, lake.log, lake.stream, [lake.tables], attempt, now=now)
    return retired.rows if retired else 0


def _apply(lake: MirroredLake, folder: Path, spark_on: SparkOn, *changes: Row) -> dict[int, str]:
    """Run the mirror's own step, prove it, and give the names of the rows that are not deleted."""
    lake.ingest(*changes)
    attempt = Attempt(run_id=f"step-{len(lake.changes)}", step=f"mirror:{BIRDS}")
    settings = sql_settings(folder)
    mirror(MirrorStep(lake.tables, lake.catalog, lambda: spark_on(settings), attempt, inform=lambda message: None))
    proof = check_fold(lake.catalog, lake.tables)
    assert proof.holds, proof.findings
    return {row["id"]: row["name"] for row in lake.rows() if not row.get("_cdc_deleted")}


@pytest.mark.parametrize("deletes", ["hard", pytest.param("soft", marks=pytest.mark.soak)])
def test_a_retired_row_is_deleted(tmp_path: Path, spark_on: SparkOn, deletes: str) -> None:
    lake = _lake(tmp_path, deletes=deletes)
    lake.ingest(_BORN, insert(2, 7, partition=1))
    lake.apply()
    assert _retire(lake) == 2
    assert _apply(lake, tmp_path, spark_on, _TOMBSTONE, insert(12, 12)) == {7: "bird 7", 12: "bird 12"}


def test_what_followed_a_delete_that_was_sent_again_spares_the_row_made_since(
    tmp_path: Path, spark_on: SparkOn
) -> None:
    """Retirement keeps the delete, since the row does not tell of it."""
    lake = _lake(tmp_path)
    lake.ingest(_BORN, _GONE, _ANEW, _GONE)
    lake.apply()
    assert _retire(lake) == 3
    assert [(row["operation"], row["_kafka_offset"]) for row in lake.rows(LOG)] == [("delete", 3)]
    assert _apply(lake, tmp_path, spark_on, _TOMBSTONE, insert(12, 12)) == {6: "anew", 12: "bird 12"}


def test_an_older_change_that_was_sent_again_is_what_its_tombstone_deletes(tmp_path: Path, spark_on: SparkOn) -> None:
    """Where deletes are tombstones alone: nothing else tells that the row was made anew since."""
    lake = _lake(tmp_path)
    lake.ingest(_BORN, _TOMBSTONE, _ANEW, _BORN)
    lake.apply()
    assert _apply(lake, tmp_path, spark_on, _TOMBSTONE) == {6: "anew"}


@pytest.mark.parametrize("runs", [pytest.param(1, marks=pytest.mark.soak), 2])
def test_the_tombstone_of_a_refused_delete_counts_wherever_a_run_is_cut(
    tmp_path: Path, spark_on: SparkOn, runs: int
) -> None:
    """The delete says something else than the change at its position, which came first."""
    lake, refused = _lake(tmp_path), change("delete", 1, 6)
    if runs == 1:
        assert _apply(lake, tmp_path, spark_on, _BORN, refused, _TOMBSTONE, insert(12, 12)) == {12: "bird 12"}
    else:
        assert _apply(lake, tmp_path, spark_on, _BORN, refused) == {6: "bird 6"}
        assert _apply(lake, tmp_path, spark_on, _TOMBSTONE, insert(12, 12)) == {12: "bird 12"}


@pytest.mark.soak
@pytest.mark.parametrize("deletes", ["hard", "soft"])
def test_a_copied_row_is_deleted(tmp_path: Path, spark_on: SparkOn, deletes: str) -> None:
    lake = _lake(tmp_path, initial="raw.old", deletes=deletes)
    lake.begin_with([{"id": 6, "name": "copied"}, {"id": 7, "name": "changed"}, {"id": 8, "name": "at once"}])
    assert _apply(lake, tmp_path, spark_on, insert(1, 7, partition=1), change("tombstone", None, 8)) == {
        6: "copied",
        7: "bird 7",
    }
    assert _apply(lake, tmp_path, spark_on, _TOMBSTONE, change("tombstone", None, 9)) == {7: "bird 7"}
