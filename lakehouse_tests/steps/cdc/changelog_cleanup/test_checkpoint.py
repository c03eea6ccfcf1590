"""A checkpoint stands for the changes before it: the fold goes on from it, and only a proven mirror gets one."""

from pathlib import Path
from typing import Any

import pytest

from lakehouse.declarations import Mirror
from lakehouse.protocol.catalog import open_catalog
from lakehouse.steps.cdc.changelog_cleanup.checkpoint import NotProven, make_checkpoint
from lakehouse.steps.cdc.evidence import read_evidence
from lakehouse.steps.cdc.replay.checkpoints import CHECKPOINT_PREFIX, checkpoints
from lakehouse.steps.cdc.replay.consumed import CannotFold
from lakehouse.steps.cdc.verify.verify import FoldProof, check_fold
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.fixtures.lost_answers import lose_one_answer
from lakehouse_tests.steps.cdc.mirrored import BIRDS, LOG, REFUSED, TOMBSTONES, MirroredLake, change, insert

pytestmark = pytest.mark.slow


def made(folder: Path, deletes: Any = "hard", **more: Any) -> MirroredLake:
    mirror = Mirror(name=BIRDS, changelog=LOG, deletes=deletes, **more)
    return MirroredLake(open_catalog(sql_settings(folder)), mirror)


def fill(lake: MirroredLake) -> None:
    lake.ingest(
        *(insert(n, n, partition=n % 2) for n in range(1, 7)),
        change("update", 20, 1, name="robin", without=("song",), partition=1),
        change("update", 21, 1, name="robin", weight=3.0, without=("song", "name"), partition=1),
        change("delete", 22, 2),
        change("update", 23, 9, name="new", without=("weight",), partition=1),
    )
    lake.apply()


def go_on(lake: MirroredLake) -> None:
    lake.ingest(
        change("update", 30, 1, weight=2.0, without=("song", "name"), partition=1),
        change("tombstone", None, 2),
        change("tombstone", None, 4),  # goes by what is stored
        insert(19, 2),  # older than its delete
        insert(10, 3, partition=1, song="changed"),
        change("delete", 31, 6),
    )
    lake.apply()


def check(lake: MirroredLake, **more: Any) -> FoldProof:
    return check_fold(lake.catalog, lake.tables, **more)


@pytest.mark.parametrize("deletes", ["hard", pytest.param("soft", marks=pytest.mark.soak)])
@pytest.mark.parametrize("truncate", [False, True])
def test_the_fold_goes_on_from_a_checkpoint(tmp_path: Path, deletes: str, truncate: bool) -> None:
    lake = made(tmp_path, deletes)
    fill(lake)
    if truncate:
        lake.ingest(change("truncate", 21, partition=1))
        lake.apply()
    checkpoint = make_checkpoint(lake.catalog, lake.tables)
    assert set(checkpoint.snapshots) == {BIRDS, TOMBSTONES, REFUSED}
    for name in checkpoint.snapshots:
        assert checkpoint.tag in lake.load(name).metadata.refs
    at_once = check(lake, begin="checkpoint")
    assert at_once.holds, at_once.findings
    assert at_once.changes == 0
    go_on(lake)
    for begin in ("build", "checkpoint"):
        proof = check(lake, begin=begin)
        assert proof.holds, proof.findings
    assert checkpoint.tag in proof.began
    assert proof.changes == 6
    lake.tamper(BIRDS, [row | {"name": "x"} if row["id"] == 9 or truncate else row for row in lake.rows()])
    assert "name should be" in str(check(lake, begin="checkpoint").findings)


def test_without_its_beginning_a_build_is_folded_from_the_checkpoint(tmp_path: Path) -> None:
    lake = made(tmp_path, initial="raw.old")
    lake.begin_with([{"id": 50, "name": "only here"}])
    fill(lake)
    lake.catalog.drop_table("raw.old")
    with pytest.raises(CannotFold, match=r"raw\.old"):
        check(lake)
    lake = made(tmp_path / "again", initial="raw.old") if (tmp_path / "again").mkdir() is None else lake
    lake.begin_with([{"id": 50, "name": "only here"}])
    fill(lake)
    make_checkpoint(lake.catalog, lake.tables)
    lake.catalog.drop_table("raw.old")
    go_on(lake)
    proof = check(lake)
    assert proof.holds, proof.findings
    assert proof.began.startswith(f"checkpoint {CHECKPOINT_PREFIX}")
    with pytest.raises(CannotFold):
        check(lake, begin="build")


def test_only_a_proven_mirror_gets_a_checkpoint(tmp_path: Path) -> None:
    lake = made(tmp_path)
    with pytest.raises(NotProven, match="nothing was mirrored"):
        make_checkpoint(lake.catalog, lake.tables)
    fill(lake)
    lake.tamper(BIRDS, [row for row in lake.rows() if row["id"] != 5])
    with pytest.raises(NotProven, match="outside the protocol"):
        make_checkpoint(lake.catalog, lake.tables)
    assert not any(name.startswith(CHECKPOINT_PREFIX) for name in lake.load(BIRDS).metadata.refs)


def test_a_large_mirror_is_proven_in_parts(tmp_path: Path) -> None:
    lake = made(tmp_path, full_check_rows=3)
    fill(lake)
    assert make_checkpoint(lake.catalog, lake.tables).tag
    assert make_checkpoint(lake.catalog, lake.tables).tag, "once more is no harm"


def test_a_tag_on_what_nobody_sealed_is_no_checkpoint(tmp_path: Path) -> None:
    lake = made(tmp_path)
    fill(lake)
    tag = make_checkpoint(lake.catalog, lake.tables).tag
    assert len(checkpoints(read_evidence(lake.catalog, lake.tables))) == 1
    lake.tamper(BIRDS, [])
    table = lake.load(BIRDS)
    table.manage_snapshots().create_tag(table.metadata.current_snapshot_id, tag).commit()
    assert not checkpoints(read_evidence(lake.catalog, lake.tables))
    with pytest.raises(CannotFold, match="no checkpoint"):
        check(lake, begin="checkpoint")


def test_a_checkpoint_survives_what_publishing_trims(tmp_path: Path) -> None:
    lake = made(tmp_path)
    for name in (BIRDS, TOMBSTONES, REFUSED):
        lake.load(name).transaction().set_properties({"lakehouse.publish.keep-snapshots": "2"}).commit_transaction()
    fill(lake)
    make_checkpoint(lake.catalog, lake.tables)
    for commit in range(40, 44):
        lake.ingest(insert(commit, commit))
        lake.apply()
    proof = check(lake, begin="checkpoint")
    assert proof.holds, proof.findings
    assert proof.changes == 4


@pytest.mark.parametrize("landed", [True, False])
def test_a_checkpoint_is_made_also_where_the_answer_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, landed: bool
) -> None:
    lake = made(tmp_path)
    fill(lake)
    lose_one_answer(lake.catalog, monkeypatch, landed=landed)
    checkpoint = make_checkpoint(lake.catalog, lake.tables)
    assert [record.tag for record in checkpoints(read_evidence(lake.catalog, lake.tables))] == [checkpoint.tag]
