"""What an ingest needs: its tables, and those that have stopped."""

from pathlib import Path

import pytest

from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.ingest.evolve.changes import TableChanges
from lakehouse.steps.ingest.ingest_step import after_changes, with_stopped
from lakehouse.steps.ingest.routes.applied_tables import NotApplied
from lakehouse.steps.ingest.routes.stopping import Stop
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.proofs.audit.simulated import QUARANTINE, A, B, SimulatedStream


def test_a_step_writes_its_tables_and_its_quarantine(tmp_path: Path) -> None:
    step = SimulatedStream(open_catalog(sql_settings(tmp_path))).step()
    assert step.tables == (A, B, QUARANTINE)


def test_a_table_that_stops_is_remembered_for_the_next_round(tmp_path: Path) -> None:
    events = SimulatedStream(open_catalog(sql_settings(tmp_path)))
    step = after_changes(events.step(), TableChanges(stopped={B: Stop("a column is missing")}))
    assert with_stopped(step, read_bases(events.catalog, events.tables)).stopped == {B: Stop("a column is missing")}


def test_a_table_that_is_not_as_declared_stops_alone_and_all_of_them_are_refused(tmp_path: Path) -> None:
    events = SimulatedStream(open_catalog(sql_settings(tmp_path)))
    for name in (A, B):
        with events.load(name).update_schema() as update:
            update.delete_column("text")
        if name == A:
            stopped = with_stopped(events.step(), read_bases(events.catalog, events.tables)).stopped
            assert list(stopped) == [A]
            assert "text" in stopped[A].reason
    with pytest.raises(NotApplied, match=r"text"):
        with_stopped(events.step(), read_bases(events.catalog, events.tables))
