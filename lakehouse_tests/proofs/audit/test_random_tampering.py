"""Whatever a few rows are made to be, by a commit that passes for a rewrite, the audit says where."""

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakehouse.protocol.catalog import open_catalog
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.proofs.audit.document import ancestry, edit_document
from lakehouse_tests.proofs.audit.simulated import A, B, SimulatedStream, by_turns

pytestmark = pytest.mark.slow

RUNS, EACH = 3, 12
Row = tuple[str, int, int]
ROWS: list[Row] = [(table, p, o) for p in (0, 1) for o in range(RUNS * EACH) if (table := by_turns(p, o)) in (A, B)]


@st.composite
def tampered(draw: st.DrawFn) -> list[Row]:
    """The rows of both tables after one to three were lost, doubled, moved to the other table, or renumbered."""
    rows = list(ROWS)
    for _ in range(draw(st.integers(1, 3))):
        position = draw(st.integers(0, len(rows) - 1))
        table, partition, offset = rows[position]
        deed = draw(st.sampled_from(["lose", "double", "move", "renumber"]))
        if deed == "lose":
            del rows[position]
        elif deed == "double":
            rows.append(rows[position])
        elif deed == "move":
            rows[position] = (B if table == A else A, partition, offset)
        else:
            rows[position] = (table, partition, draw(st.integers(0, RUNS * EACH + 5)))
    return rows


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tampered())
def test_any_change_to_rows_is_found_and_its_place_is_named(after: list[Row]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        stream = SimulatedStream(open_catalog(sql_settings(Path(folder))))
        for _ in range(RUNS):
            stream.ingest({0: EACH, 1: EACH})
        for name in (A, B):
            places = [(p, o) for table, p, o in after if table == name]
            stream.replace(name, stream.live_files(name), places)
            edit_document(
                Path(folder) / "catalog.db",
                name,
                lambda document: ancestry(document)[0]["summary"].update(operation="replace"),
            )
        changed = {row[:2] for row in (Counter(after) - Counter(ROWS)) + (Counter(ROWS) - Counter(after))}
        proof = stream.audit()
        assert proof.holds == (not changed)
        assert {(f.table, f.partition) for f in proof.findings} == changed
        assert all(f.kind == "rows_differ" and f.offsets for f in proof.findings)
        stream.catalog.engine.dispose()  # type: ignore[attr-defined]
