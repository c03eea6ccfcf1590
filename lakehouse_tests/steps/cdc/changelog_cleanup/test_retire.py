"""Old changes may go, once a checkpoint stands for them: what is left stays proven, and so does the mirror."""

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest

from lakehouse.declarations import Changelog
from lakehouse.proofs.audit import StreamProof, audit_stream
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.cdc.changelog_cleanup.checkpoint import make_checkpoint
from lakehouse.steps.cdc.changelog_cleanup.retire import CannotRetire, Retired, retire_changelog
from lakehouse.steps.cdc.evidence import read_evidence
from lakehouse.steps.cdc.replay.consumed import CannotFold
from lakehouse.steps.cdc.verify.audit import audit_mirror
from lakehouse.steps.cdc.verify.counters import check_balance
from lakehouse.steps.cdc.verify.ordering import check_order
from lakehouse.steps.cdc.verify.verify import check_fold
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.proofs.audit.document import Document, edit_document, redigest, seals
from lakehouse_tests.steps.cdc.mirrored import BEGAN, BIRDS, LOG, REFUSED, ROW, TOMBSTONES, MirroredLake, change, insert

pytestmark = pytest.mark.slow

DAY = timedelta(days=1)


@pytest.fixture
def lake(tmp_path: Path) -> MirroredLake:
    """Ten changes that arrived one a second, by turns in two partitions, in two runs; and one more."""
    log = Changelog(name=LOG, topic="birds", row=ROW, key=("id",), description="Birds.", owner="tests", retention=DAY)
    made = MirroredLake(open_catalog(sql_settings(tmp_path)), log=log)
    made.ingest(*(insert(n, n, partition=n % 2) for n in range(1, 7)))
    made.apply()
    made.ingest(change("update", 7, 1, name="x", without=("song",), partition=1), change("delete", 8, 2))
    made.ingest(insert(9, 9, partition=1), insert(10, 10))
    made.apply()
    return made


def retire(lake: MirroredLake, seconds: int) -> Retired | None:
    """With the retention ending so many seconds after the first change arrived."""
    now = BEGAN + DAY + timedelta(seconds=seconds)
    attempt = Attempt(run_id="retention", step="retire:birds")
    return retire_changelog(lake.catalog, lake.log, lake.stream, [lake.tables], attempt, now=now)


def audit(lake: MirroredLake) -> StreamProof:
    return audit_stream(lake.catalog, "birds", (LOG, lake.stream.quarantine_table))


def offsets(lake: MirroredLake) -> set[tuple[int, int]]:
    return {(row["_kafka_partition"], row["_kafka_offset"]) for row in lake.rows(LOG)}


def test_without_a_checkpoint_nothing_goes(lake: MirroredLake) -> None:
    with pytest.raises(CannotRetire, match="no checkpoint"):
        retire(lake, 100)
    assert len(offsets(lake)) == 10


def test_what_is_young_stays(lake: MirroredLake) -> None:
    make_checkpoint(lake.catalog, lake.tables)
    assert retire(lake, 0) is None
    assert audit(lake).holds


def test_a_timestamp_of_the_future_keeps_nothing_that_follows(lake: MirroredLake) -> None:
    """It is as old as the next change of its partition; as the last one, it stays until there is a next."""
    present = lake.arrived
    lake.arrived = BEGAN.replace(year=2099)
    lake.ingest(insert(11, 11), insert(12, 12, partition=1))
    lake.arrived = present
    lake.ingest(insert(13, 13), insert(14, 14))
    lake.apply()
    make_checkpoint(lake.catalog, lake.tables)
    gone = retire(lake, 12)  # the change with offset 6 of partition 0 is 12 seconds old
    assert gone is not None
    assert dict(gone.before) == {0: 6 + 1, 1: 5}
    assert offsets(lake) == {(0, 7), (1, 5)}
    assert audit(lake).holds
    assert check_fold(lake.catalog, lake.tables).holds
    lake.ingest(insert(15, 15, partition=1))
    lake.apply()
    make_checkpoint(lake.catalog, lake.tables)
    assert retire(lake, 1000) is not None
    assert not offsets(lake)


def test_what_went_is_counted_and_what_is_left_is_proven(lake: MirroredLake) -> None:
    make_checkpoint(lake.catalog, lake.tables)
    lake.ingest(insert(11, 11, partition=1))
    gone = retire(lake, 6)
    assert gone is not None
    assert (gone.rows, dict(gone.before)) == (5, {0: 2, 1: 3})
    assert offsets(lake) == {(0, n) for n in (2, 3, 4)} | {(1, n) for n in (3, 4, 5)}
    proof = audit(lake)
    assert proof.holds, proof.findings
    assert sum(proven.rows for proven in proof.ranges) == 6
    assert proof.read == 11

    lake.ingest(insert(12, 12))
    lake.apply()
    assert audit(lake).holds
    proof = check_fold(lake.catalog, lake.tables)
    assert proof.holds, proof.findings
    assert "checkpoint" in proof.began
    seen = read_evidence(lake.catalog, lake.tables)
    assert check_balance(lake.tables, seen).holds
    assert check_order(lake.tables, seen).holds
    with pytest.raises(CannotFold, match="retention"):
        check_fold(lake.catalog, lake.tables, begin="build")

    make_checkpoint(lake.catalog, lake.tables)
    again = retire(lake, 9)
    assert again is not None
    assert again.rows == 3
    assert audit(lake).holds
    assert check_fold(lake.catalog, lake.tables).holds


def test_nothing_goes_that_is_newer_than_the_checkpoint(lake: MirroredLake) -> None:
    make_checkpoint(lake.catalog, lake.tables)
    lake.ingest(insert(11, 11, partition=1))
    lake.apply()
    gone = retire(lake, 1000)
    assert gone is not None
    assert offsets(lake) == {(1, 5)}
    assert check_fold(lake.catalog, lake.tables).holds
    assert retire(lake, 2000) is None


def retired(lake: MirroredLake) -> str:
    """A lake whose mirror went on after a checkpoint and after what it stands for was removed; returns its tag."""
    tag = make_checkpoint(lake.catalog, lake.tables).tag
    lake.ingest(*(change("update", 20 + n, n, name="new", weight=2.0, song="new", partition=n % 2) for n in (3, 4)))
    lake.apply()
    assert retire(lake, 6) is not None
    return tag


def test_a_file_that_only_the_checkpoint_needs_is_named_where_it_is_gone(lake: MirroredLake) -> None:
    tag = retired(lake)
    birds = lake.load(BIRDS)
    live = {task.file.file_path for task in birds.scan().plan_files()}
    tagged = birds.scan(snapshot_id=birds.metadata.refs[tag].snapshot_id).plan_files()
    (path,) = {task.file.file_path for task in tagged} - live
    assert audit_mirror(lake.catalog, lake.tables, lake.declarations).holds
    birds.io.delete(path)
    proof = audit_mirror(lake.catalog, lake.tables, lake.declarations)
    assert [(finding.kind, finding.table) for finding in proof.findings] == [("missing_file", BIRDS)]
    assert path.rpartition("/")[2] in proof.findings[0].message
    assert not proof.errors


@pytest.mark.parametrize("tables", [(BIRDS,), (BIRDS, TOMBSTONES, REFUSED)])
def test_the_tag_of_a_checkpoint_that_is_gone_can_be_set_again(lake: MirroredLake, tables: tuple[str, ...]) -> None:
    tag = retired(lake)
    places = {name: lake.load(name).metadata.refs[tag].snapshot_id for name in (BIRDS, TOMBSTONES, REFUSED)}
    for name in tables:
        lake.load(name).manage_snapshots().remove_tag(tag).commit()
    for attempted in (check_fold, make_checkpoint):
        with pytest.raises(CannotFold, match=f"set it again .*{BIRDS} at snapshot {places[BIRDS]}") as refused:
            attempted(lake.catalog, lake.tables)
    assert tag in str(refused.value.remedy)
    proof = audit_mirror(lake.catalog, lake.tables, lake.declarations)
    assert [(finding.kind, finding.table) for finding in proof.findings] == [("checkpoint_removed", BIRDS)]
    assert tag in proof.findings[0].message
    assert not proof.errors
    for name, snapshot_id in re.findall(r"(\S+) at snapshot (\d+)", str(refused.value.remedy)):
        lake.load(name).manage_snapshots().create_tag(int(snapshot_id), tag).commit()
        places.pop(name)
    assert not places
    assert check_fold(lake.catalog, lake.tables).holds
    assert make_checkpoint(lake.catalog, lake.tables).tag != tag


def test_a_checkpoint_that_nobody_remembers_is_no_case_for_a_rebuild(lake: MirroredLake) -> None:
    tag = retired(lake)
    table = lake.load(BIRDS)
    table.manage_snapshots().remove_tag(tag).commit()
    for entry in lake.load(BIRDS).metadata.metadata_log:
        table.io.delete(entry.metadata_file)
    with pytest.raises(CannotFold, match="another changelog") as refused:
        check_fold(lake.catalog, lake.tables)
    assert "`lakehouse rebuild` refuses" in str(refused.value.remedy)


def test_more_or_less_than_was_retired_is_found(lake: MirroredLake) -> None:
    before = lake.rows(LOG)
    make_checkpoint(lake.catalog, lake.tables)
    retire(lake, 6)
    left = lake.rows(LOG)
    lake.tamper(LOG, left[1:])
    assert {finding.kind for finding in audit(lake).findings} == {"rows_differ", "unsealed_commit"}
    lake.tamper(LOG, before)
    assert "rows_differ" in {finding.kind for finding in audit(lake).findings}


def test_a_seal_that_retires_beside_retention_is_found(lake: MirroredLake, tmp_path: Path) -> None:
    make_checkpoint(lake.catalog, lake.tables)
    retire(lake, 6)
    lake.ingest(insert(12, 12))

    def more(document: Document) -> None:
        newest = seals(document)[0]
        retired = json.loads(newest["lakehouse.kafka.retired"])
        retired[LOG]["0"] = ["3", "3", "5"]
        newest["lakehouse.kafka.retired"] = json.dumps(retired)
        redigest(newest)

    for name in (LOG, lake.stream.quarantine_table):
        edit_document(tmp_path / "catalog.db", name, more)
    messages = " ".join(finding.message for finding in audit(lake).findings if finding.kind == "balance")
    assert "(ingest), 1 rows of changelog.birds were retired" in messages
