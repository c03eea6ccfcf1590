"""What somebody may do to tables behind our back: the audit says no, and names table, partition and offsets."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.manifest import DataFile

from lakehouse.cli.commands.prove.audit_scope import Auditing
from lakehouse.cli.commands.prove.kinds.files import FILES
from lakehouse.proofs.audit import Finding, StreamProof
from lakehouse_tests.proofs.audit.conftest import Edit
from lakehouse_tests.proofs.audit.document import Document, ancestry, redigest, seals
from lakehouse_tests.proofs.audit.simulated import A, B, SimulatedStream, by_turns, to_a

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Place:
    """Where a finding points to."""

    table: str
    partition: int
    inside: tuple[int, int]

    def is_named(self, finding: Finding) -> bool:
        if (finding.table, finding.partition) != (self.table, self.partition) or not finding.offsets.startswith("["):
            return False
        start, end = map(int, finding.offsets.strip("[)").split(", "))
        return start <= self.inside[0] < self.inside[1] <= end


def broken(proof: StreamProof, kind: str, place: Place) -> Finding:
    """The finding of a kind at a place; there must be one."""
    assert not proof.holds
    matching = [f for f in proof.findings if f.kind == kind and place.is_named(f)]
    assert matching, [(f.kind, f.table, f.partition, f.offsets, f.message) for f in proof.findings]
    return matching[0]


def kinds(proof: StreamProof) -> set[str]:
    return {finding.kind for finding in proof.findings}


@pytest.fixture
def stream(events: SimulatedStream) -> SimulatedStream:
    """Three runs."""
    for _ in range(3):
        events.ingest({0: 20, 1: 20})
    assert events.audit().holds
    return events


SECOND_RUN = Place(A, 1, (20, 40))


def second_file(stream: SimulatedStream, table: str = A) -> DataFile:
    """The data file of partition 1 that the second run wrote."""
    return next(f for f in stream.live_files(table) if all(p == 1 and 20 <= o < 40 for p, o in stream.places(f)))


def test_a_file_listed_twice(stream: SimulatedStream) -> None:
    file = second_file(stream)
    stream.add(A, file)
    proof = stream.audit()
    assert "More than once: 20, 22, 23, 25" in broken(proof, "rows_differ", SECOND_RUN).message
    assert {"duplicate_file", "unsealed_commit"} <= kinds(proof)
    name = file.file_path.rpartition("/")[2]
    assert f"data file {name} is in" in next(f.message for f in proof.findings if f.kind == "duplicate_file")


def test_a_copy_of_a_file_added_by_pyicebergs_add_files(stream: SimulatedStream, tmp_path: Path) -> None:
    copy = pq.read_table(second_file(stream).file_path.removeprefix("file://"))
    # add_files takes files of others only, which do not know Iceberg's field ids.
    bare = pa.schema([pa.field(field.name, field.type, field.nullable) for field in copy.schema])
    pq.write_table(copy.cast(bare), tmp_path / "copy.parquet")
    stream.load(A).add_files([(tmp_path / "copy.parquet").as_uri()])
    proof = stream.audit()
    assert "More than once: 20, 22, 23, 25" in broken(proof, "rows_differ", SECOND_RUN).message
    assert "unsealed_commit" in kinds(proof)


def test_rows_deleted(stream: SimulatedStream) -> None:
    stream.load(A).delete("_kafka_partition = 1 and _kafka_offset >= 25 and _kafka_offset < 27")
    proof = stream.audit()
    finding = broken(proof, "rows_differ", SECOND_RUN)
    assert "Missing: 25, 26." in finding.message
    assert "run run-2" in finding.message


def test_all_rows_deleted(stream: SimulatedStream) -> None:
    stream.load(A).delete()
    proof = stream.audit()
    broken(proof, "rows_differ", Place(A, 0, (0, 20)))
    broken(proof, "rows_differ", SECOND_RUN)


def test_one_table_rolled_back_alone(stream: SimulatedStream) -> None:
    second_seal = [s for s in ancestry(json.loads(stream.load(B).metadata.model_dump_json())) if _is_seal(s)][1]
    stream.load(B).manage_snapshots().set_current_snapshot(second_seal["snapshot-id"]).commit()
    proof = stream.audit()
    finding = broken(proof, "rolled_back", Place(B, 1, (40, 60)))
    assert "run-2" in finding.message
    assert "run-3" in finding.message
    broken(proof, "rows_differ", Place(B, 0, (40, 60)))


def _is_seal(snapshot: Document) -> bool:
    return "lakehouse.digest" in snapshot["summary"]


def test_a_table_emptied_and_its_history_with_it(stream: SimulatedStream, edit: Edit) -> None:
    def empty(document: Document) -> None:
        document.update({"refs": {}, "current-snapshot-id": -1, "snapshots": [], "snapshot-log": []})

    edit(B, empty)
    broken(stream.audit(), "rows_differ", Place(B, 1, (20, 40)))


def change_tally(summary: dict[str, str]) -> None:
    tallies = json.loads(summary["lakehouse.kafka.tallies"])
    tallies[A]["1"], tallies[B]["1"] = tallies[B]["1"], tallies[A]["1"]
    summary["lakehouse.kafka.tallies"] = json.dumps(tallies)


def test_a_seal_edited(stream: SimulatedStream, edit: Edit) -> None:
    edit(A, lambda document: change_tally(seals(document)[1]))
    proof = stream.audit()
    finding = next(f for f in proof.findings if f.kind == "seal_edited")
    assert finding.table == A
    assert "digest does not match" in finding.message


def test_a_seal_edited_with_a_digest_that_fits(stream: SimulatedStream, edit: Edit) -> None:
    def forge(document: Document) -> None:
        change_tally(seals(document)[1])
        redigest(seals(document)[1])

    edit(A, forge)
    proof = stream.audit()
    assert {"chain_broken", "balance"} <= kinds(proof)
    broken(proof, "balance", Place(A, 1, (20, 40)))


def test_the_newest_seal_of_all_tables_edited_with_digests_that_fit(stream: SimulatedStream, edit: Edit) -> None:
    def forge(document: Document) -> None:
        summary = seals(document)[0]
        change_tally(summary)
        redigest(summary)

    for name in stream.tables:
        edit(name, forge)
    broken(stream.audit(), "balance", Place(A, 1, (40, 60)))


def test_newest_seals_and_their_totals_edited_with_digests_that_fit(stream: SimulatedStream, edit: Edit) -> None:
    """The forger counts rows of A for B, consistently in every seal that could contradict: then the rows do."""

    def forge(document: Document) -> None:
        summary = seals(document)[0]
        change_tally(summary)
        before = json.loads(seals(document)[1]["lakehouse.kafka.totals"])
        tallies = json.loads(summary["lakehouse.kafka.tallies"])
        for table in (A, B):
            both = zip(before[table]["1"], tallies[table]["1"], strict=True)
            before[table]["1"] = [str(int(x) + int(y)) for x, y in both]
        totals = json.loads(summary["lakehouse.kafka.totals"])
        totals[A]["1"], totals[B]["1"] = before[A]["1"], before[B]["1"]
        summary["lakehouse.kafka.totals"] = json.dumps(totals)
        redigest(summary)

    for name in stream.tables:
        edit(name, forge)
    proof = stream.audit()
    broken(proof, "rows_differ", Place(A, 1, (40, 60)))
    broken(proof, "rows_differ", Place(B, 1, (40, 60)))


def test_one_tables_newest_seal_edited_where_only_siblings_can_tell(stream: SimulatedStream, edit: Edit) -> None:
    def forge(document: Document) -> None:
        summary = seals(document)[0]
        counts = json.loads(summary["lakehouse.kafka.counts"])
        counts["bytes"] += 1
        summary["lakehouse.kafka.counts"] = json.dumps(counts)
        redigest(summary)

    edit(B, forge)
    proof = stream.audit()
    assert [(f.kind, f.table) for f in proof.findings if f.kind == "seal_edited"]


def test_an_extra_plain_append(stream: SimulatedStream) -> None:
    stream.append(A, [(1, 25), (1, 999)])
    proof = stream.audit()
    commit = next(f for f in proof.findings if f.kind == "unsealed_commit")
    assert (commit.table, "2 rows added" in commit.message) == (A, True)
    assert "More than once: 25." in broken(proof, "rows_differ", SECOND_RUN).message
    beyond = next(f for f in proof.findings if f is not commit and "999" in f.message)
    assert (beyond.table, beyond.partition, beyond.offsets) == (A, 1, "from 60")


def test_one_row_lost_and_another_doubled_between_the_same_bounds(events: SimulatedStream) -> None:
    for _ in range(3):
        events.ingest({0: 20, 1: 20}, to_a)
    file = second_file(events)
    places = [(1, 25) if place == (1, 30) else place for place in events.places(file)]
    events.replace(A, [file], places)
    twin = second_file(events)
    assert twin.record_count == file.record_count
    assert twin.lower_bounds == file.lower_bounds
    assert twin.upper_bounds == file.upper_bounds
    proof = events.audit()
    finding = broken(proof, "rows_differ", SECOND_RUN)
    assert "Missing: 30. More than once: 25." in finding.message


def test_one_row_lost_and_another_doubled_by_what_calls_itself_a_rewrite(events: SimulatedStream, edit: Edit) -> None:
    for _ in range(3):
        events.ingest({0: 20, 1: 20}, to_a)
    file = second_file(events)
    events.replace(A, [file], [(1, 25) if place == (1, 30) else place for place in events.places(file)])
    edit(A, as_rewrite)
    proof = events.audit()
    assert kinds(proof) == {"rows_differ"}
    assert "Missing: 30. More than once: 25." in broken(proof, "rows_differ", SECOND_RUN).message


def as_rewrite(document: Document) -> None:
    """Let the newest commit look like a compaction."""
    ancestry(document)[0]["summary"]["operation"] = "replace"


def test_a_rewrite_is_not_believed_either_when_its_commit_has_expired(events: SimulatedStream, edit: Edit) -> None:
    events = SimulatedStream(events.catalog, {"lakehouse.publish.keep-snapshots": "2"})
    for _ in range(3):
        events.ingest({0: 20, 1: 20}, to_a)
    file = second_file(events)
    events.replace(A, [file], [(1, 25) if place == (1, 30) else place for place in events.places(file)])
    edit(A, as_rewrite)
    for _ in range(4):
        events.ingest({0: 5}, to_a)
    finding = next(f for f in events.audit().findings if f.kind == "rows_differ")
    assert (finding.table, finding.partition) == (A, 1)
    assert "More than once: 25." in finding.message


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("kafka.end", "nonsense"),
        ("kafka.topic", None),
        ("kafka.totals", '{"raw.a":{"0":["x","1","1"]}}'),
        ("inputs", "{"),
        ("kafka.cluster_id", "another"),
    ],
)
def test_a_seal_that_makes_no_sense_with_a_digest_that_fits(
    stream: SimulatedStream, edit: Edit, key: str, value: str | None
) -> None:
    def forge(document: Document) -> None:
        summary = seals(document)[0]
        del summary[f"lakehouse.{key}"]
        if value is not None:
            summary[f"lakehouse.{key}"] = value
        redigest(summary)

    edit(A, forge)
    kind = "rolled_back" if key == "kafka.cluster_id" else "seal_edited"
    assert [f.table for f in stream.audit().findings if f.kind == kind] == [A]


@pytest.mark.parametrize("column", ["_kafka_partition", "_kafka_offset"])
def test_a_coordinate_column_dropped(stream: SimulatedStream, column: str) -> None:
    with stream.load(A).update_schema(allow_incompatible_changes=True) as update:
        update.delete_column(column)
    proof = stream.audit()
    assert [(f.kind, f.table, column in f.message) for f in proof.findings] == [("no_coordinates", A, True)]
    assert {proven.table for proven in proof.ranges} == {B, "quarantine.events"}


def test_a_file_deleted_from_storage_is_seen_by_a_scan(events: SimulatedStream) -> None:
    """Metadata alone cannot tell."""
    for _ in range(3):
        events.ingest({0: 20, 1: 20}, to_a)
    path = Path(second_file(events).file_path.removeprefix("file://"))
    path.unlink()
    proof = events.audit(scan=True)
    named = f"{A}: data file {path.name} is in the table, and not in storage."
    assert [f.message for f in proof.findings if f.kind == "missing_file"] == [named]
    # The proof of files counts it, and says so in the same words: each line is shown once.
    auditing = Auditing(events.catalog, events.declarations, scan=True, full=False, in_process=0)
    assert [f.message for f in FILES.prove(auditing, A).findings] == [named]
    assert "Missing: 20, 21, 22" in broken(proof, "rows_differ", SECOND_RUN).message


@pytest.mark.parametrize("keep", [0, 100])
def test_a_file_that_was_emptied_or_cut_is_named_by_a_scan_and_hides_nothing(
    stream: SimulatedStream, keep: int
) -> None:
    path = Path(second_file(stream).file_path.removeprefix("file://"))
    path.write_bytes(path.read_bytes()[:keep])
    stream.load(B).delete("_kafka_partition = 0 and _kafka_offset = 0")
    proof = stream.audit(scan=True)
    assert [path.name in f.message for f in proof.findings if f.kind == "unreadable_file"] == [True]
    broken(proof, "rows_differ", Place(B, 0, (0, 20)))
    broken(proof, "rows_differ", SECOND_RUN)
    assert not proof.errors


def test_a_manifest_that_was_cut_is_named_and_hides_nothing(stream: SimulatedStream) -> None:
    stream.append(B, [(0, 999)])
    table = stream.load(A)
    snapshot = table.current_snapshot()
    assert snapshot
    path = Path(snapshot.manifests(table.io)[0].manifest_path.removeprefix("file://"))
    path.write_bytes(path.read_bytes()[:-30])
    proof = stream.audit()
    damage = {(f.table, path.name in f.message) for f in proof.findings if f.kind == "unreadable_file"}
    assert damage == {(A, True)}, proof.findings
    assert [f.table for f in proof.findings if f.kind == "unsealed_commit"] == [B]


def test_rows_moved_from_one_table_to_another(stream: SimulatedStream, edit: Edit) -> None:
    for name, without in ((A, 25), (B, None)):
        file = second_file(stream, name)
        places = [place for place in stream.places(file) if place[1] != without]
        stream.replace(name, [file], places if without else [*places, (1, 25)])
        edit(name, as_rewrite)
    proof = stream.audit()
    assert kinds(proof) == {"rows_differ"}
    broken(proof, "rows_differ", SECOND_RUN)
    broken(proof, "rows_differ", Place(B, 1, (20, 40)))


def test_an_exchange_that_keeps_count_and_sum(events: SimulatedStream, edit: Edit) -> None:
    """Offsets 22 and 28 become 24 and 26: only the sum of squares tells."""
    for _ in range(3):
        events.ingest({0: 20, 1: 20}, lambda p, o: None if o % 20 in (4, 6) else A)
    file = second_file(events)
    events.replace(A, [file], [(1, {22: 24, 28: 26}.get(o, o)) for _, o in events.places(file)])
    edit(A, as_rewrite)
    broken(events.audit(), "rows_differ", SECOND_RUN)


def test_a_whole_file_replaced_by_another_of_the_same_shape(events: SimulatedStream) -> None:
    """The offsets are the same, so the promise about offsets is kept, but nobody accounts for the commit."""
    for _ in range(3):
        events.ingest({0: 20, 1: 20}, to_a)
    file = second_file(events)
    events.replace(A, [file], events.places(file))
    proof = events.audit()
    assert kinds(proof) == {"unsealed_commit"}
    assert {r.decided_by for r in proof.ranges if r.partition == 1} == {"manifests and scan"}


def test_a_seal_taken_out_of_the_ancestry(stream: SimulatedStream, edit: Edit) -> None:
    def skip(document: Document) -> None:
        line = ancestry(document)
        place = [i for i, snapshot in enumerate(line) if _is_seal(snapshot)][1]
        line[place - 1]["parent-snapshot-id"] = line[place + 1]["snapshot-id"]

    edit(A, skip)
    proof = stream.audit()
    assert "chain_broken" in kinds(proof)
    broken(proof, "gap", Place(A, 1, (20, 40)))


def test_the_newest_seal_taken_away_from_its_rows(stream: SimulatedStream, edit: Edit) -> None:
    def behead(document: Document) -> None:
        parent = ancestry(document)[0]["parent-snapshot-id"]
        document["refs"]["main"]["snapshot-id"] = document["current-snapshot-id"] = parent

    for name in stream.tables:
        edit(name, behead)
    proof = stream.audit()
    finding = next(f for f in proof.findings if f.kind == "rows_differ" and (f.table, f.partition) == (A, 1))
    assert finding.offsets == "from 40"
    assert "no seal accounts for" in finding.message


def test_rows_without_any_seal(events: SimulatedStream) -> None:
    events.append(A, [(0, 1)])
    assert {"no_seal", "unsealed_commit"} <= kinds(events.audit())


@pytest.mark.parametrize("route", [by_turns, to_a])
def test_everything_after_a_tampering_is_still_named(events: SimulatedStream, route: Callable[[int, int], str]) -> None:
    """Two damages in two tables and two runs: both are told, and nothing that is whole."""
    for _ in range(3):
        events.ingest({0: 20, 1: 20}, route)
    events.load(A).delete("_kafka_partition = 0 and _kafka_offset = 1")
    events.load(A).delete("_kafka_partition = 1 and _kafka_offset = 41")
    differing = [f for f in events.audit().findings if f.kind == "rows_differ"]
    assert {(f.table, f.partition, f.offsets) for f in differing} == {(A, 0, "[0, 20)"), (A, 1, "[40, 60)")}


def test_a_backup_of_a_file_put_back_in_its_place_is_seen_by_a_scan(events: SimulatedStream) -> None:
    """Bytes exchanged under the same path leave no trace in metadata; --scan is for whoever fears that."""
    events.ingest({0: 20}, to_a)
    (file,) = events.live_files(A)
    other = events.files(A, [(0, 5 if o == 6 else o) for _, o in events.places(file)])[0]
    shutil.copy(other.file_path.removeprefix("file://"), file.file_path.removeprefix("file://"))
    assert events.audit().holds
    assert (
        "Missing: 6. More than once: 5." in broken(events.audit(scan=True), "rows_differ", Place(A, 0, (0, 20))).message
    )
