"""Legs of the proof, a case each: the siblings, and what the tables hold. The chain of seals is `test_chain_findings`.

Guarded mechanisms: siblings say the same; rows are counted by manifests only where a sealed attempt wrote the file.
Every way to tamper is in `test_tampering`.
"""

from lakehouse.protocol.seals.history import head_of
from lakehouse_tests.proofs.audit.simulated import A, SimulatedStream, to_a


def audited(events: SimulatedStream) -> set[str]:
    return {finding.kind for finding in events.audit().findings}


def test_a_table_that_was_rolled_back_alone(events: SimulatedStream) -> None:
    events.ingest({0: 4})
    first = head_of(events.load(A))
    assert first
    events.ingest({0: 4})
    events.load(A).manage_snapshots().set_current_snapshot(first).commit()
    assert "rolled_back" in audited(events)


def test_a_row_that_is_gone(events: SimulatedStream) -> None:
    events.ingest({0: 4}, to_a)
    events.replace(A, events.live_files(A), [(0, 0), (0, 1), (0, 2)])
    assert "rows_differ" in audited(events)


def test_bounds_of_a_file_that_no_attempt_has_written_prove_nothing(events: SimulatedStream) -> None:
    """As dense as before by its bounds; one row is there twice, and another is lost."""
    events.ingest({0: 4}, to_a)
    events.replace(A, events.live_files(A), [(0, 0), (0, 1), (0, 1), (0, 3)])
    assert "rows_differ" in audited(events)
