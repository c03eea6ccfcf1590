"""What a table holds is what its seals account for: a row that is gone is missed, whatever bounds say.

Guarded mechanism: rows are counted by manifests only where a sealed attempt wrote the file. Every way to tamper is in
`test_tampering`.
"""

from lakehouse_tests.proofs.audit.simulated import A, SimulatedStream, to_a


def audited(events: SimulatedStream) -> set[str]:
    return {finding.kind for finding in events.audit().findings}


def test_a_row_that_is_gone(events: SimulatedStream) -> None:
    events.ingest({0: 4}, to_a)
    events.replace(A, events.live_files(A), [(0, 0), (0, 1), (0, 2)])
    assert "rows_differ" in audited(events)


def test_bounds_of_a_file_that_no_attempt_has_written_prove_nothing(events: SimulatedStream) -> None:
    """As dense as before by its bounds; one row is there twice, and another is lost."""
    events.ingest({0: 4}, to_a)
    events.replace(A, events.live_files(A), [(0, 0), (0, 1), (0, 1), (0, 3)])
    assert "rows_differ" in audited(events)
