"""A stream that has not begun stands where it will begin."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql.types import LongType

from lakehouse.declarations import Declarations, Start, Stream, ToTable
from lakehouse.engines.kafka import PartitionRange, TopicState
from lakehouse.orchestration.resources import stream_status as module
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import Lake


def test_a_stream_without_tables_stands_where_it_will_begin(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = TopicState("things", "cluster", "id", {0: PartitionRange(3, 10), 1: PartitionRange(0, 4)})
    monkeypatch.setattr(module, "read_stream_topics", lambda *_: topic)
    stream = Stream(name="things", topic="things", route=ToTable("raw.things"), start=Start.earliest())
    tables = {name: declare({"id": LongType()}, name) for name in ("raw.things", "quarantine.things")}
    declared = Declarations(tables, {"things": stream}, {})
    lake = cast("Any", SimpleNamespace(catalog=sql_lake.catalog, kafka=None, declarations=declared))
    standing = module.stream_status(lake, stream)
    assert standing.sealed is None
    assert standing.position == {0: 3, 1: 0}
    assert standing.lag == 11
