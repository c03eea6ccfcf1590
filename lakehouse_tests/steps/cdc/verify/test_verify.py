"""The second fold is what the definition says, and whatever is done to a mirror behind its back is found and named."""

from pathlib import Path
from typing import Any

import pytest

from lakehouse.declarations import Mirror
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.history import last_seal
from lakehouse.steps.cdc.replay.buckets import Buckets
from lakehouse.steps.cdc.replay.consumed import CannotFold
from lakehouse.steps.cdc.statement import MirrorStatement
from lakehouse.steps.cdc.verify.verify import FoldProof, check_fold
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.proofs.audit.document import edit_document, redigest, seals
from lakehouse_tests.steps.cdc.mirrored import BIRDS, LOG, REFUSED, TOMBSTONES, MirroredLake, Saved
from lakehouse_tests.steps.cdc.mirrored_rows import Row, change, insert
from lakehouse_tests.steps.cdc.verify.checked import check, fill, filled, lake

__all__ = ["filled", "lake"]

pytestmark = pytest.mark.slow

PARTS = ("epoch", "commit", "sequence")


def kinds(proof: FoldProof) -> set[str]:
    return {finding.kind for finding in proof.findings}


def message(proof: FoldProof, kind: str, has: str = "") -> str:
    found = [finding.message for finding in proof.findings if finding.kind == kind and has in finding.message]
    assert found, proof.findings
    return found[0]


def edited(rows: list[Row], key: int, **values: Any) -> list[Row]:
    return [row | values if row["id"] == key else row for row in rows]


def test_a_sound_mirror_is_its_changelog(lake: MirroredLake) -> None:
    proof = check(lake)
    assert (proof.changes, proof.expected, proof.difference.compared) == (19, 11, 11)
    assert (proof.looked_at, proof.began) == ("every key", "the changelog's first row")


def test_soft_deletes_and_a_truncate_hold_as_well(tmp_path: Path) -> None:
    for deletes in ("hard", "soft"):
        folder = tmp_path / deletes
        folder.mkdir()
        lake = MirroredLake(open_catalog(sql_settings(folder)), Mirror(name=BIRDS, changelog=LOG, deletes=deletes))
        fill(lake)
        lake.ingest(change("truncate", 40), insert(41, 7), change("control", 42), insert(35, 8))
        lake.apply()
        proof = check(lake)
        assert proof.holds, proof.findings
        assert proof.expected == (1 if deletes == "hard" else 12)


def test_a_changed_value_is_named_by_key_and_column(lake: MirroredLake) -> None:
    lake.tamper(BIRDS, edited(lake.rows(), 1, name="raven", song="caw"))
    proof = check(lake)
    told = message(proof, "rows_differ")
    assert "1 rows differ (in name: 1, song: 1): id=1: name should be 'robin', is 'raven'; song differs" in told
    assert "caw" not in str(proof)
    assert "song 1" not in str(proof)
    assert "unsealed_commit" in kinds(proof)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("_cdc_position", {"epoch": 0, "commit": 99, "sequence": 0}),
        ("_cdc_behind", None),
        ("_cdc_behind", [("song", {"epoch": 0, "commit": 19, "sequence": 0})]),
    ],
)
def test_what_is_remembered_of_a_row_is_compared_as_well(lake: MirroredLake, column: str, value: Any) -> None:
    lake.tamper(BIRDS, edited(lake.rows(), 1, **{column: value}))
    assert f"(in {column}: 1): id=1" in message(check(lake), "rows_differ")


def test_a_deleted_row_is_named(lake: MirroredLake) -> None:
    lake.load(BIRDS).delete("id = 7")
    told = message(check(lake), "rows_differ")
    assert "1 rows are missing: id=7: is missing (partition 1 offset 3)" in told


def test_a_row_that_was_put_in_is_named(lake: MirroredLake) -> None:
    lake.tamper(BIRDS, [*lake.rows(), lake.rows()[0] | {"id": 77}])
    assert "1 rows should not be there: id=77" in message(check(lake), "rows_differ")


def test_a_doubled_row_is_named(lake: MirroredLake) -> None:
    lake.tamper(BIRDS, [*lake.rows(), next(row for row in lake.rows() if row["id"] == 9)])
    assert "1 keys are there more than once: id=9" in message(check(lake), "rows_differ")


def test_an_old_version_of_a_row_brought_back_is_named(lake: MirroredLake) -> None:
    old = {"name": "bird 3", "_cdc_position": {"epoch": 0, "commit": 3, "sequence": 0}}
    lake.tamper(BIRDS, edited(lake.rows(), 3, **old))
    told = message(check(lake), "rows_differ")
    assert "id=3: name should be 'wren', is 'bird 3'; _cdc_position should be 0/23/0, is 0/3/0" in told


@pytest.mark.parametrize("name", [BIRDS, TOMBSTONES, REFUSED])
def test_a_table_that_was_rolled_back_alone_is_named(lake: MirroredLake, name: str) -> None:
    lake.roll_back(name)
    proof = check(lake)
    assert f"{name} stands at run mirror-4" in message(proof, "rolled_back")
    if name == BIRDS:
        assert "2 rows are missing: id=11: is missing (partition 1 offset 8); id=12" in message(
            proof, "rows_differ", "missing"
        )
        assert "id=5: name should be 'owl', is 'bird 5'" in message(proof, "rows_differ", "differ")


def test_a_tombstone_that_was_removed_or_put_in_is_named(lake: MirroredLake) -> None:
    held = lake.rows(TOMBSTONES)
    assert [row["id"] for row in held] == [2]
    lake.tamper(TOMBSTONES, [])
    told = message(check(lake), "tombstones_differ")
    assert "are missing or older" in told
    assert "id=2" in told
    lake.tamper(TOMBSTONES, [*held, held[0] | {"id": 9}])
    assert "of no delete that the changelog knows: id=9" in message(check(lake), "tombstones_differ")


def test_an_edited_seal_is_named(lake: MirroredLake, filled: Saved) -> None:
    def edit(document: dict[str, Any]) -> None:
        seals(document)[0]["lakehouse.mirror.rows"] = "12"

    edit_document(filled.database, BIRDS, edit)
    assert "digest does not match" in message(check(lake), "seal_edited")

    def forge(document: dict[str, Any]) -> None:
        redigest(seals(document)[0])

    edit_document(filled.database, BIRDS, forge)
    assert "something else than its siblings" in message(check(lake), "seal_edited")


def test_a_changelog_that_lost_changes_is_named(lake: MirroredLake) -> None:
    lake.tamper(LOG, [row for row in lake.rows(LOG) if row["_kafka_offset"] != 3])
    assert check(lake).holds, "the sealed snapshot is still there"
    table = lake.load(LOG)
    sealed = MirrorStatement.from_keys(last_seal(lake.load(BIRDS)).seal.statement).end  # type: ignore[union-attr]
    table.maintenance.expire_snapshots().by_id(sealed).commit()
    told = message(check(lake), "changes_differ")
    assert "19" not in told
    assert "holds 2 delete, 1 tombstone, 2 update, 12 insert" in told or "insert" in told


def test_without_its_end_the_changelog_is_cut_by_offsets(lake: MirroredLake) -> None:
    end = lake.load(LOG).metadata.current_snapshot_id
    lake.ingest(change("update", 50, 1, name="later", partition=1))
    lake.load(LOG).maintenance.expire_snapshots().by_id(end).commit()
    proof = check(lake)
    assert proof.holds, proof.findings
    assert proof.changes == 19


def test_refused_changes_do_not_count(lake: MirroredLake) -> None:
    other = insert(31, 11, name="impostor", partition=1)
    lake.ingest(other)
    lake.apply(other)
    proof = check(lake)
    assert proof.holds, proof.findings
    assert proof.refused == 1
    lake.tamper(REFUSED, [])
    assert not check(lake).holds


def test_a_large_mirror_is_compared_in_buckets_that_change(lake: MirroredLake) -> None:
    sound = check(lake, limit=3)
    assert sound.holds
    assert "of 1024 buckets" in sound.looked_at
    assert sound.expected < 11
    wrong = [row | {"name": "changed"} for row in lake.rows()]
    lake.tamper(BIRDS, wrong)
    sampled = check(lake, limit=3)
    assert sampled.looked_at != sound.looked_at, "another snapshot, other buckets"
    assert sampled.difference.counts["different"] == sampled.expected


def test_a_changelog_made_anew_cannot_be_folded(lake: MirroredLake) -> None:
    lake.catalog.drop_table(LOG)
    MirroredLake(lake.catalog)
    with pytest.raises(CannotFold, match="another table"):
        check(lake)


def test_what_arrived_before_a_column_was_declared_is_read_from_the_rest(tmp_path: Path) -> None:
    lake = MirroredLake(open_catalog(sql_settings(tmp_path)))
    lake.ingest(insert(1, 1, weight=None) | {"extra": '{"weight": 4.5, "unknown": 1}'}, insert(2, 2))
    lake.apply()
    lake.tamper(BIRDS, edited(lake.rows(), 1, weight=4.5))
    assert kinds(check(lake)) == {"unsealed_commit"}


def test_before_the_first_run_there_is_nothing_to_compare(tmp_path: Path) -> None:
    lake = MirroredLake(open_catalog(sql_settings(tmp_path)))
    assert check(lake).holds
    lake.ingest(insert(1, 1))
    assert check(lake).holds
    lake.tamper(BIRDS, [])
    lake.tamper(TOMBSTONES, [{"id": 1, "_cdc_position": {"epoch": 0, "commit": 1, "sequence": 0}, "_cdc_digest": 1}])
    assert {"unsealed_commit", "no_seal"} <= kinds(check(lake))


def test_an_initial_copy_is_older_than_every_change(tmp_path: Path) -> None:
    lake = MirroredLake(open_catalog(sql_settings(tmp_path)), Mirror(name=BIRDS, changelog=LOG, initial="raw.old"))
    lake.begin_with([{"id": 1, "name": "old", "weight": 9.0}, {"id": 50, "name": "only here"}])
    lake.ingest(insert(1, 1), insert(2, 2))
    lake.apply()
    proof = check(lake)
    assert proof.holds, proof.findings
    assert proof.expected == 3
    assert "raw.old@" in proof.began
    lake.catalog.drop_table("raw.old")
    with pytest.raises(CannotFold, match=r"raw\.old"):
        check(lake)


def test_parts_of_a_mirror_in_which_no_key_moved_are_checked(tmp_path: Path) -> None:
    """A change of key that left a value out is in one part, and the others need nothing of it."""
    lake = MirroredLake(open_catalog(sql_settings(tmp_path)))
    lake.ingest(*(insert(key, key) for key in range(1, 9)))
    lake.apply()
    moved = change("insert", 20, 100, name="moved", weight=1.0, without=("song",), other=1)
    lake.ingest(change("delete", 20, 1), moved)
    lake.apply()
    for part in Buckets.all_in_parts(16, 2):
        assert check_fold(lake.catalog, lake.tables, buckets=part).holds
