"""A seal that was edited, taken out or forged is named, also where its digest fits."""

import json

import pytest

from lakehouse_tests.proofs.audit.conftest import Edit
from lakehouse_tests.proofs.audit.document import Document, ancestry, redigest, seals
from lakehouse_tests.proofs.audit.simulated import A, B, SimulatedStream
from lakehouse_tests.proofs.audit.tampering import Place, broken, is_seal, kinds

pytestmark = pytest.mark.slow


def change_tally(summary: dict[str, str]) -> None:
    tallies = json.loads(summary["lakehouse.kafka.tallies"])
    tallies[A]["1"], tallies[B]["1"] = tallies[B]["1"], tallies[A]["1"]
    summary["lakehouse.kafka.tallies"] = json.dumps(tallies)


def test_a_seal_edited(stream: SimulatedStream, edit: Edit) -> None:
    edit(A, lambda document: change_tally(seals(document)[1]))
    proof = stream.audit()
    found = next(f for f in proof.findings if f.kind == "seal_edited")
    assert found.table == A
    assert "digest does not match" in found.message


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


def test_a_seal_taken_out_of_the_ancestry(stream: SimulatedStream, edit: Edit) -> None:
    def skip(document: Document) -> None:
        line = ancestry(document)
        place = [i for i, snapshot in enumerate(line) if is_seal(snapshot)][1]
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
    found = next(f for f in proof.findings if f.kind == "rows_differ" and (f.table, f.partition) == (A, 1))
    assert found.offsets == "from 40"
    assert "no seal accounts for" in found.message


def test_rows_without_any_seal(events: SimulatedStream) -> None:
    events.append(A, [(0, 1)])
    assert {"no_seal", "unsealed_commit"} <= kinds(events.audit())
