"""Where nothing was done to the tables, the audit holds and says what decided it."""

import pytest

from lakehouse.protocol.commit import publish, seal_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.seal import Seal
from lakehouse_tests.proofs.audit.simulated import QUARANTINE, A, B, SimulatedStream, to_a

pytestmark = pytest.mark.slow


def test_dense_files_are_decided_by_manifests(events: SimulatedStream) -> None:
    events.ingest({0: 20, 1: 10}, to_a)
    events.ingest({0: 5}, to_a)
    proof = events.audit()
    assert proof.holds, proof.findings
    assert {(r.table, r.partition, r.first, r.end, r.rows, r.decided_by) for r in proof.ranges} == {
        (A, 0, 0, 25, 25, "manifests"),
        (A, 1, 0, 10, 10, "manifests"),
    }
    assert (proof.read, proof.lost, proof.invisible, proof.seals) == (35, 0, 0, 2)
    assert proof.position == {0: 25, 1: 10}
    assert proof.proven_from.startswith("run run-1, ")


def test_routed_rows_are_decided_by_a_scan_of_coordinates(events: SimulatedStream) -> None:
    events.ingest({0: 30, 1: 30})
    proof = events.audit()
    assert proof.holds, proof.findings
    assert {(r.table, r.decided_by) for r in proof.ranges} == {(A, "scan"), (B, "scan"), (QUARANTINE, "scan")}
    assert sum(r.rows for r in proof.ranges) == 60


def test_a_scan_of_everything_says_the_same(events: SimulatedStream) -> None:
    events.ingest({0: 20}, to_a)
    proof = events.audit(scan=True)
    assert proof.holds
    assert [r.decided_by for r in proof.ranges] == ["scan"]


def test_offsets_without_a_record_are_told_and_are_no_loss(events: SimulatedStream) -> None:
    events.ingest({0: 10}, lambda p, o: None if o in (3, 9) else A)
    proof = events.audit()
    assert proof.holds, proof.findings
    assert (proof.read, proof.invisible) == (8, 2)
    assert proof.invisible_because == "2: the seals that are left do not say", "no run has compared"


def test_a_stream_that_never_ran_has_nothing_to_break(events: SimulatedStream) -> None:
    proof = events.audit()
    assert proof.holds
    assert (proof.ranges, proof.seals, proof.proven_from) == ((), 0, "")


def test_running_out_of_history_takes_no_proof_away(events: SimulatedStream) -> None:
    events = SimulatedStream(events.catalog, {"lakehouse.publish.keep-snapshots": "4"})
    for _ in range(8):
        events.ingest({0: 7, 1: 3})
    assert len(events.load(A).metadata.snapshots) <= 6
    proof = events.audit()
    assert proof.holds, proof.findings
    assert proof.read == 80
    assert proof.seals < 8
    assert proof.proven_from.startswith("run run-")


def test_everything_rolled_back_together_holds_and_is_read_again(events: SimulatedStream) -> None:
    events.ingest({0: 10})
    before = {name: events.load(name).metadata.current_snapshot_id for name in events.tables}
    events.ingest({0: 10})
    for name, snapshot in before.items():
        events.load(name).manage_snapshots().set_current_snapshot(snapshot).commit()
    assert events.audit().position[0] == 10
    events.ingest({})
    proof = events.audit()
    assert proof.holds, proof.findings
    assert (proof.read, proof.position[0]) == (20, 20)


def test_a_table_that_has_just_been_added_to_the_stream_is_no_broken_promise(events: SimulatedStream) -> None:
    events.ingest({0: 10}, to_a)
    events.catalog.drop_table(B)
    SimulatedStream(events.catalog)
    assert events.audit().holds
    events.ingest({0: 10})
    proof = events.audit()
    assert proof.holds, proof.findings
    assert {r.table for r in proof.ranges} == {A, B, QUARANTINE}


def test_maintenance_may_seal_one_table_alone(events: SimulatedStream) -> None:
    events.ingest({0: 10})
    base = read_bases(events.catalog, [A])[A]
    assert base.sealed is not None
    attempt = Attempt(run_id="maintenance", step="compact")
    seal = Seal.of(attempt, "maintenance", statement=base.sealed.seal.statement, previous=base.sealed.seal)
    publish(events.catalog, [seal_branch(events.catalog, base, attempt, seal)])
    assert events.audit().holds
    events.ingest({0: 10})
    proof = events.audit()
    assert proof.holds, proof.findings
