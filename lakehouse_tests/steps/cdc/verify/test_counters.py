"""Seals, the changelog's seals and Iceberg's counters have to say the same; each that does not is named."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakehouse.declarations import Mirror
from lakehouse.proofs.audit.chain import KIND_NEW_EPOCH
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.commit import publish, seal_branch
from lakehouse.protocol.errors import SealBroken
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.cdc.evidence import read_evidence
from lakehouse.steps.cdc.statement import Applied
from lakehouse.steps.cdc.stored_statement import newest_statement
from lakehouse.steps.cdc.verify.audit import audit_mirror
from lakehouse.steps.cdc.verify.counters import BalanceProof, check_balance
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.proofs.audit.document import Document, ancestry, edit_document, redigest, seals
from lakehouse_tests.steps.cdc.mirrored import BIRDS, LOG, REFUSED, TOMBSTONES, MirroredLake, Saved, change, insert

pytestmark = pytest.mark.slow

OWN = (BIRDS, TOMBSTONES, REFUSED)


def balance(lake: MirroredLake) -> BalanceProof:
    return check_balance(lake.tables, read_evidence(lake.catalog, lake.tables))


def messages(proof: BalanceProof, kind: str) -> str:
    assert not proof.holds
    matching = [finding.message for finding in proof.findings if finding.kind == kind]
    assert matching, proof.findings
    return " ".join(matching)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    folder = tmp_path_factory.mktemp("lake")
    made = MirroredLake(open_catalog(sql_settings(folder)))
    fill(made)
    return Saved(made, folder)


def fill(lake: MirroredLake) -> None:
    lake.ingest(*(insert(n, n) for n in range(1, 6)))
    lake.apply()
    lake.ingest(change("delete", 11, 2), change("update", 12, 3, name="x"))
    lake.ingest(insert(13, 6))
    lake.apply()
    lake.ingest()
    lake.apply()
    other = insert(13, 6, name="impostor")
    lake.ingest(other, insert(14, 7))
    lake.apply(other)


@pytest.fixture
def lake(filled: Saved) -> MirroredLake:
    return filled.again()


def forge(filled: Saved, place: int, edit: Callable[[dict[str, str]], None]) -> None:
    """Edit a seal (0: the newest) in all three tables alike, digests and all: as careful as a forger can be."""

    def every(document: Document) -> None:
        summaries = seals(document)
        edit(summaries[place])
        for number in range(place, -1, -1):
            if number < place:
                summaries[number]["lakehouse.previous"] = summaries[number + 1]["lakehouse.digest"]
            redigest(summaries[number])

    for name in OWN:
        edit_document(filled.database, name, every)


def set_key(key: str, **values: Any) -> Callable[[dict[str, str]], None]:
    def edit(summary: dict[str, str]) -> None:
        stored = json.loads(summary[f"lakehouse.mirror.{key}"])
        summary[f"lakehouse.mirror.{key}"] = json.dumps(stored | values if values else stored + 1)

    return edit


def test_sound_books_balance_and_say_from_where_on(lake: MirroredLake) -> None:
    proof = balance(lake)
    assert proof.holds, proof.findings
    assert (proof.seals, proof.rows, proof.changes) == (4, 6, 10)
    assert {origin.split(",")[0] for origin in (proof.proven_from or {}).values()} == {"run mirror-2"}


def test_soft_deletes_are_updates_for_iceberg(tmp_path: Path) -> None:
    lake = MirroredLake(open_catalog(sql_settings(tmp_path)), Mirror(name=BIRDS, changelog=LOG, deletes="soft"))
    lake.ingest(insert(1, 1), insert(2, 2))
    lake.apply()
    lake.ingest(change("delete", 3, 1))
    lake.apply()
    proof = balance(lake)
    assert proof.holds, proof.findings
    assert proof.rows == 2


def test_a_range_left_out_is_a_gap(lake: MirroredLake, filled: Saved) -> None:
    forge(filled, 1, lambda summary: summary.update({"lakehouse.mirror.start": "42"}))
    assert "goes on after changelog snapshot 42" in messages(balance(lake), "gap")


def test_an_end_that_goes_back_is_an_overlap(lake: MirroredLake, filled: Saved) -> None:
    forge(filled, 0, set_key("kafka_end", **{"0": 1}))
    assert "Kafka partitions 0" in messages(balance(lake), "overlap")


def test_an_end_that_goes_back_as_the_stream_began_anew_is_sound(lake: MirroredLake) -> None:
    """Who has accepted another topic for the stream has offsets begin at 0 again."""
    names = (LOG, lake.stream.quarantine_table)
    attempt = Attempt(run_id="anew", step="accept-loss:birds")
    for base in read_bases(lake.catalog, names).values():
        assert base.sealed is not None
        seal = Seal.of(attempt, KIND_NEW_EPOCH, statement=base.sealed.seal.statement, previous=base.sealed.seal)
        publish(lake.catalog, [seal_branch(lake.catalog, base, attempt, seal)])
    lake.ingest(insert(20, 20))
    lake.apply(kafka_end={0: 1, 1: 0})
    assert "overlap" not in {finding.kind for finding in balance(lake).findings}


@pytest.mark.parametrize("key", ["operations", "total_operations"])
def test_operations_that_do_not_add_up(lake: MirroredLake, filled: Saved, key: str) -> None:
    forge(filled, 2, set_key(key, insert=4))
    assert "run mirror-5" in messages(balance(lake), "balance")


def test_operations_that_the_changelog_did_not_bring(lake: MirroredLake, filled: Saved) -> None:
    def edit(summary: dict[str, str]) -> None:
        for key in ("operations", "total_operations"):
            counts = json.loads(summary[f"lakehouse.mirror.{key}"])
            counts["update"], counts["insert"] = counts.get("update", 0) + 1, counts["insert"] - 1
            summary[f"lakehouse.mirror.{key}"] = json.dumps(counts)

    forge(filled, 0, edit)
    assert "2 insert" in messages(balance(lake), "operations_differ")


@pytest.mark.parametrize("key", ["applied", "total_applied"])
def test_applied_counts_that_do_not_add_up(lake: MirroredLake, filled: Saved, key: str) -> None:
    forge(filled, 2, set_key(key, updated=7))
    messages(balance(lake), "balance")


def test_counts_that_iceberg_did_not_count(lake: MirroredLake, filled: Saved) -> None:
    for key in ("applied", "total_applied"):
        forge(filled, 2, set_key(key, updated=7))
    message = messages(balance(lake), "counters_differ")
    assert "updated 7" in message
    assert "by Iceberg's counters 1, 1, 1 and 0" in message


def test_a_refused_change_that_is_in_no_quarantine(lake: MirroredLake) -> None:
    lake.ingest(insert(30, 8))
    lake.apply(applied=Applied(inserted=1, too_late=1))
    messages(balance(lake), "counters_differ")


def test_a_number_of_rows_that_is_not_there(lake: MirroredLake, filled: Saved) -> None:
    forge(filled, 0, lambda summary: summary.update({"lakehouse.mirror.rows": "9"}))
    proof = balance(lake)
    assert "do not make 9" in messages(proof, "balance")
    assert "by its seal 9 rows, by Iceberg's count 6" in messages(proof, "rows_differ")


def test_a_seal_taken_out_breaks_the_chain(lake: MirroredLake, filled: Saved) -> None:
    def cut(document: Document) -> None:
        line = ancestry(document)
        sealed = [s for s in line if "lakehouse.digest" in s["summary"]]
        for after in line:
            if after.get("parent-snapshot-id") == sealed[1]["snapshot-id"]:
                after["parent-snapshot-id"] = sealed[1]["parent-snapshot-id"]

    edit_document(filled.database, BIRDS, cut)
    assert "does not follow on the one before it" in messages(balance(lake), "chain_broken")


def test_maintenance_may_seal_and_says_the_same(lake: MirroredLake) -> None:
    def maintain(**edit: str) -> None:
        base = read_bases(lake.catalog, [BIRDS])[BIRDS]
        assert base.sealed
        attempt = Attempt(run_id="m", step="maintain")
        keys = dict(base.sealed.seal.statement) | edit
        seal = Seal.of(attempt, "maintenance", statement=keys, previous=base.sealed.seal)
        publish(lake.catalog, [seal_branch(lake.catalog, base, attempt, seal)])

    maintain()
    assert balance(lake).holds
    maintain(**{"mirror.plan": '{"other": 1}'})
    assert "changes what its seals say" in messages(balance(lake), "balance")


def test_what_is_no_longer_listed_is_not_asked(tmp_path: Path) -> None:
    lake = MirroredLake(open_catalog(sql_settings(tmp_path)))
    lake.load(BIRDS).transaction().set_properties({"lakehouse.publish.keep-snapshots": "3"}).commit_transaction()
    for number in range(1, 6):
        lake.ingest(insert(number, number))
        lake.apply()
    proof = balance(lake)
    assert proof.holds, proof.findings
    assert proof.seals < 5
    assert "run mirror-10" in (proof.proven_from or {})["rows inserted, updated and deleted"]


def test_seals_without_operations_are_not_asked(lake: MirroredLake, filled: Saved) -> None:
    def forget(document: Document) -> None:
        for summary in seals(document)[2:]:
            summary.pop("lakehouse.changes.operations", None)

    edit_document(filled.database, LOG, forget)
    proof = balance(lake)
    assert proof.holds
    assert "mirror-7" in (proof.proven_from or {})["changes of the changelog"]


def test_a_seal_that_makes_no_sense_is_named_with_its_table_and_snapshot(lake: MirroredLake, filled: Saved) -> None:
    forge(filled, 0, lambda summary: summary.update({"lakehouse.mirror.end": "nonsense"}))
    proof = audit_mirror(lake.catalog, lake.tables, lake.declarations)
    named = {f.table for f in proof.findings if f.kind == "seal_edited" and "the seal cannot be read" in f.message}
    assert named == set(OWN)
    with pytest.raises(SealBroken, match=f"{BIRDS} snapshot {lake.load(BIRDS).current_snapshot().snapshot_id}"):
        newest_statement(lake.load(BIRDS))


def test_a_file_that_was_cut_is_named_and_hides_no_finding(tmp_path: Path) -> None:
    lake = MirroredLake(open_catalog(sql_settings(tmp_path)))
    fill(lake)
    lake.tamper(TOMBSTONES, [])
    assert not audit_mirror(lake.catalog, lake.tables, lake.declarations).errors
    path = Path(next(iter(lake.load(BIRDS).scan().plan_files())).file.file_path.removeprefix("file://"))
    path.write_bytes(path.read_bytes()[:-40])
    proof = audit_mirror(lake.catalog, lake.tables, lake.declarations)
    assert [(f.table, path.name in f.message) for f in proof.findings if f.kind == "unreadable_file"] == [(BIRDS, True)]
    assert TOMBSTONES in {f.table for f in proof.findings if f.kind == "unsealed_commit"}
