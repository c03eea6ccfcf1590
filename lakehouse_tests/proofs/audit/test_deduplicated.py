"""Rows that were there twice have gone, by a step that says which: what is left stays proven, and no other row may go.

Guarded mechanisms: the seals of all tables count what went, a kind of seal may take away what it is for and as many
rows as it says, and the files that such a step wrote are read.
"""

import json
from collections.abc import Sequence

import pytest
from pyiceberg.expressions import And, EqualTo, In

from lakehouse.engines.kafka.tally import Tally
from lakehouse.protocol.commit import open_branch, publish
from lakehouse.protocol.commit.stage import commit_on_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.maintenance.deduplicate.removed_rows import RemovedRows, seal_removed_rows
from lakehouse_tests.proofs.audit.conftest import Edit
from lakehouse_tests.proofs.audit.document import Document, redigest, seals
from lakehouse_tests.proofs.audit.simulated import OFFSET, PARTITION, A, B, SimulatedStream, to_a

pytestmark = pytest.mark.slow


@pytest.fixture
def stream(events: SimulatedStream) -> SimulatedStream:
    for _ in range(3):
        events.ingest({0: 20, 1: 20}, to_a)
    return events


def remove(stream: SimulatedStream, offsets: Sequence[int], *, sealed: Sequence[int] | None = None) -> None:
    """As the rewrite does, for rows of partition 1; `sealed` is what its seals say instead of what went."""
    bases = read_bases(stream.catalog, stream.tables)
    attempt = Attempt(run_id="upkeep", step=f"maintain:{A}")
    open_branch(stream.catalog, bases[A], attempt)
    rows = And(EqualTo(PARTITION, 1), In(OFFSET, set(offsets)))
    commit_on_branch(
        stream.catalog,
        bases[A],
        attempt.branch,
        lambda transaction: transaction.delete(rows, snapshot_properties=attempt.marks, branch=attempt.branch),
    )
    sealed_offsets = offsets if sealed is None else sealed
    tally = sum((Tally(1, o, o * o) for o in sealed_offsets), Tally())
    publish(
        stream.catalog,
        seal_removed_rows(stream.catalog, attempt, bases, A, RemovedRows(len(sealed_offsets), ["p"], {1: tally})),
    )


def test_what_went_is_counted_and_what_is_left_is_proven(stream: SimulatedStream) -> None:
    assert {covered.decided_by for covered in stream.audit().ranges} == {"manifests"}
    remove(stream, [21, 25])
    proof = stream.audit()
    assert proof.holds, proof.findings
    assert {(covered.table, covered.partition, covered.rows) for covered in proof.ranges} >= {(A, 0, 60), (A, 1, 58)}
    assert proof.read == 120
    stream.ingest({0: 20, 1: 20}, to_a)
    remove(stream, [60, 69])
    stream.ingest({1: 20}, to_a)
    proof = stream.audit()
    assert proof.holds, proof.findings
    assert stream.audit(scan=True).holds


def test_rows_that_went_beside_those_that_were_counted_are_missed(stream: SimulatedStream) -> None:
    remove(stream, [21, 25], sealed=[21])
    assert {finding.kind for finding in stream.audit().findings} == {"rows_differ"}


def test_another_row_than_was_counted_is_missed(stream: SimulatedStream) -> None:
    remove(stream, [21], sealed=[22])
    (finding,) = stream.audit().findings
    assert (finding.kind, finding.table, finding.partition) == ("rows_differ", A, 1)


def test_what_went_does_not_come_back(stream: SimulatedStream) -> None:
    remove(stream, [21, 25])
    stream.append(A, [(1, 21)])
    assert {"rows_differ", "unsealed_commit"} == {finding.kind for finding in stream.audit().findings}


def test_files_of_a_deduplicating_rewrite_are_read(stream: SimulatedStream) -> None:
    """Between the same bounds as dense a file may hold one row twice and another one not at all."""
    remove(stream, [39])
    proof = stream.audit()
    assert proof.holds, proof.findings
    assert {covered.partition: covered.decided_by for covered in proof.ranges if covered.table == A} == {
        0: "manifests",
        1: "manifests and scan",
    }


@pytest.mark.parametrize("forged", ["count", "table", "kind"])
def test_a_forged_seal_is_found(stream: SimulatedStream, edit: Edit, forged: str) -> None:
    remove(stream, [21, 25])
    keys = {
        "count": ("deduplicate.removed", "1"),
        "table": ("deduplicate.table", B),
        "kind": ("kind", "ingest"),
    }

    def forge(document: Document) -> None:
        summary = seals(document)[0]
        key, value = keys[forged]
        summary[f"lakehouse.{key}"] = value
        redigest(summary)

    for name in stream.tables:
        edit(name, forge)
    assert "balance" in {finding.kind for finding in stream.audit().findings}


def test_more_may_not_go_than_the_seal_says(stream: SimulatedStream, edit: Edit) -> None:
    """A forger who takes a row more, and counts it where the rows are counted, has to say so as well."""
    remove(stream, [21, 25], sealed=[21, 25])

    def forge(document: Document) -> None:
        summary = seals(document)[0]
        retired = json.loads(summary["lakehouse.kafka.retired"])
        retired[A]["0"] = ["1", "5", "25"]
        summary["lakehouse.kafka.retired"] = json.dumps(retired, separators=(",", ":"))
        redigest(summary)

    for name in stream.tables:
        edit(name, forge)
    findings = stream.audit().findings
    assert any(
        finding.kind == "balance" and "2 rows were there twice, and 3 were retired" in finding.message
        for finding in findings
    )
