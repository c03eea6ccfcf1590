"""Old changes that stay: the last ones of their key and partition of which the mirror's row does not tell."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lakehouse.declarations import Changelog, Mirror
from lakehouse.proofs.audit import audit_stream
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.cdc.changelog_cleanup.checkpoint import make_checkpoint
from lakehouse.steps.cdc.changelog_cleanup.retire import retire_changelog
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.steps.cdc.mirrored import BEGAN, BIRDS, LOG, ROW, MirroredLake, Row, change, insert

_DAY = timedelta(days=1)
_TOMBSTONE = change("tombstone", None, 1)


def _left(folder: Path, *changes: Row, later: tuple[Row, ...] = (), **mirror: Any) -> set[tuple[int, int]]:
    """Partition and offset of what a retirement of all leaves; `later` comes after the checkpoint."""
    log = Changelog(name=LOG, topic="birds", row=ROW, key=("id",), description="Birds.", owner="tests", retention=_DAY)
    lake = MirroredLake(open_catalog(sql_settings(folder)), Mirror(name=BIRDS, changelog=LOG, **mirror), log)
    lake.ingest(*changes)
    lake.apply()
    make_checkpoint(lake.catalog, lake.tables)
    if later:
        lake.ingest(*later)
    attempt, now = Attempt(run_id="retention", step="retire:birds"), BEGAN + _DAY + timedelta(seconds=1000)
    retire_changelog(lake.catalog, lake.log, lake.stream, [lake.tables], attempt, now=now)
    proof = audit_stream(lake.catalog, "birds", (LOG, lake.stream.quarantine_table))
    assert proof.holds, proof.findings
    return {(row["_kafka_partition"], row["_kafka_offset"]) for row in lake.rows(LOG)}


@pytest.mark.parametrize("deletes", ["hard", "soft"])
def test_nothing_stays_of_keys_that_came_in_order(tmp_path: Path, deletes: str) -> None:
    update = change("update", 3, 1, name="x", without=("song",))
    deleted = insert(4, 2), change("delete", 5, 2), change("tombstone", None, 2)
    assert _left(tmp_path, insert(1, 1), update, *deleted, insert(6, 3, partition=1), deletes=deletes) == set()


def test_a_delete_that_was_sent_again_stays_while_the_row_is_there(tmp_path: Path) -> None:
    delete = change("delete", 2, 1)
    assert _left(tmp_path, insert(1, 1), delete, insert(3, 1, name="anew"), delete) == {(0, 3)}


def test_an_older_image_that_was_sent_again_stays(tmp_path: Path) -> None:
    assert _left(tmp_path, insert(1, 1), insert(3, 1, name="anew"), insert(1, 1)) == {(0, 2)}


def test_what_another_partition_waits_for_in_vain_stays(tmp_path: Path) -> None:
    """The tombstone follows nothing in its own partition, and must not come to delete the row."""
    assert _left(tmp_path, insert(1, 1), insert(2, 2), later=(_TOMBSTONE | {"_kafka_partition": 1},)) == {
        (0, 0),
        (1, 0),
    }


def test_a_change_that_a_newer_one_follows_does_not_stay(tmp_path: Path) -> None:
    delete = change("delete", 2, 1)
    assert _left(tmp_path, insert(1, 1), insert(3, 1, name="anew"), delete, insert(3, 1, name="anew")) == set()
