"""All tables of a stream say the same; every way to tamper is in `test_tampering`, a return in `test_absence`."""

from lakehouse.protocol.seals.history import head_of
from lakehouse_tests.proofs.audit.simulated import A, SimulatedStream


def test_a_table_that_was_rolled_back_alone(events: SimulatedStream) -> None:
    events.ingest({0: 4})
    first = head_of(events.load(A))
    assert first
    events.ingest({0: 4})
    events.load(A).manage_snapshots().set_current_snapshot(first).commit()
    assert "rolled_back" in {finding.kind for finding in events.audit().findings}
