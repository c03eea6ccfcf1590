"""Records come out of the quarantine as they went in."""

import json

import pytest

from lakehouse.declarations import ByField, Stream
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.ingest.repair.refused_records import refused_places, refused_records
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.ingest.in_process import InProcess
from lakehouse_tests.steps.ingest.repair.test_reprocess import LARGE, NARROW, A, B, record, tables, widen


@pytest.fixture
def stream(sql_lake: Lake) -> InProcess:
    """In partition 0: a, a too large, broken, b too large, b. In partition 1: a too large, a."""
    declared = Stream(name="things", topic="things", route=ByField("kind", {"a": A, "b": B}), max_quarantine_share=1.0)
    made = InProcess(open_catalog(sql_lake.settings), declared)
    made.declare(*tables(NARROW))
    made.ingest(
        {
            0: [record("a", 0), record("a", LARGE + 1), (b"key", b"broken"), record("b", LARGE + 3), record("b", 4)],
            1: [record("a", LARGE), record("a", 1)],
        }
    )
    assert made.quarantined() == [(0, 1), (0, 2), (0, 3), (1, 0)]
    return made


def test_headers_come_back_as_they_were(stream: InProcess) -> None:
    headers = '[{"key":"a","value":"AAH/"},{"key":"b"}]'
    stream.ingest({1: [record("a", LARGE + 2)]}, headers=headers)
    widen(stream)
    base = read_bases(stream.catalog, [stream.stream.quarantine_table])[stream.stream.quarantine_table]
    places, _ = refused_places(base, {1: [(2, 3)]})
    (batch,) = refused_records(base, places)
    assert json.loads(batch.column("headers").to_pylist()[0]) == json.loads(headers)
