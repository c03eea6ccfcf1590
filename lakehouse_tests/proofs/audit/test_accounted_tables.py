"""Tables for whose rows seals account, and that were dropped, damaged, or taken out of the declaration.

Guarded mechanism: every seal of a stream carries the totals of all its tables.
"""

from pathlib import Path

from lakehouse.proofs.audit import audit_stream
from lakehouse_tests.proofs.audit.simulated import QUARANTINE, A, B, SimulatedStream, to_a


def audited(events: SimulatedStream) -> set[str]:
    return {finding.kind for finding in events.audit().findings}


def test_a_table_that_was_dropped_hides_nothing_of_its_siblings(events: SimulatedStream) -> None:
    events.ingest({0: 20})
    events.catalog.drop_table(A)
    assert audited(events) == {"table_gone"}
    events.catalog.load_table(B).delete("id = 3")
    proof = events.audit()
    assert {(finding.kind, finding.table) for finding in proof.findings} >= {
        ("table_gone", A),
        ("unsealed_commit", B),
        ("rows_differ", B),
    }


def test_a_table_that_was_declared_and_not_made_yet_is_no_broken_promise(events: SimulatedStream) -> None:
    events.ingest({0: 10}, to_a)
    events.catalog.drop_table(B)
    proof = events.audit()
    assert proof.holds
    assert [error for error in proof.errors if B in error and "lakehouse apply" in error]


def test_a_document_that_was_cut_hides_nothing_of_its_siblings(events: SimulatedStream) -> None:
    events.ingest({0: 20})
    Path(events.load(A).metadata_location.removeprefix("file://")).write_bytes(b"")
    events.catalog.load_table(B).delete("id = 3")
    findings = {(finding.kind, finding.table) for finding in events.audit().findings}
    assert findings >= {("unreadable_file", A), ("unsealed_commit", B), ("rows_differ", B)}


def test_a_table_that_left_the_stream_and_was_dropped_is_missed(events: SimulatedStream) -> None:
    events.ingest({0: 20})
    events.catalog.drop_table(B)
    proof = audit_stream(events.catalog, "events", (A, QUARANTINE))
    assert [(finding.kind, finding.table) for finding in proof.findings] == [("table_gone", B)]


def test_a_table_that_left_the_stream_and_lost_rows_is_named(events: SimulatedStream) -> None:
    events.ingest({0: 20})
    assert audit_stream(events.catalog, "events", (A, QUARANTINE)).holds
    events.catalog.load_table(B).delete("id = 3")
    proof = audit_stream(events.catalog, "events", (A, QUARANTINE))
    assert {(finding.kind, finding.table) for finding in proof.findings} == {("rows_differ", B)}


def test_the_quarantine_of_a_stream_that_was_renamed_is_missed(events: SimulatedStream) -> None:
    events.ingest({0: 20})
    events.catalog.drop_table(QUARANTINE)
    assert [finding.kind for finding in audit_stream(events.catalog, "renamed", (A, B)).findings] == ["table_gone"]
