"""The audit of what was staged, before anybody sees it: no broker, no Spark."""

from pathlib import Path

import pytest

from lakehouse.engines.kafka.statement import Counts, KafkaStatement
from lakehouse.engines.kafka.tally import Tally
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.commit import stage_files
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.ingest.sealing.seal_tables import seal_all
from lakehouse.steps.ingest.sealing.staged_audit import StagedRowsDiffer, require_staged
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.proofs.audit.simulated import A, SimulatedStream


def test_fewer_rows_on_the_branch_than_were_counted(tmp_path: Path) -> None:
    events = SimulatedStream(open_catalog(sql_settings(tmp_path)))
    step, bases = events.step(), read_bases(events.catalog, events.tables)
    stage_files(events.catalog, bases[A], step.attempt, events.files(A, [(0, 0), (0, 1)]))
    counts = Counts(read=3, written=3)
    statement = KafkaStatement("c", "events", "t", {0: 0}, {0: 3}, {A: {0: Tally.of_range(0, 3)}}, counts=counts)
    with pytest.raises(StagedRowsDiffer, match="received 2 rows, the workers wrote 3"):
        require_staged(events.catalog, seal_all(step, bases, statement, {}), statement)
