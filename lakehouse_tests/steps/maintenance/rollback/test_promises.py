"""What a rollback must not break: records that have to be read again, and whoever has read on."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from lakehouse.declarations import ByField, Stream
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.leases.lease import Lease, take_lease
from lakehouse.protocol.seals.history import head_of
from lakehouse.steps.maintenance.rollback.move import find_move
from lakehouse.steps.maintenance.rollback.promises import ReaderCutOff, RecordsGone, RowsStay
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.proofs.audit.simulated import A, B, SimulatedStream, to_a
from lakehouse_tests.steps.maintenance.rollback.conftest import Standing


def test_what_kafka_no_longer_has_is_not_taken_back(stream: Standing) -> None:
    newest = stream.heads()
    stream.earliest[1] = 5
    with pytest.raises(RecordsGone, match=r"partition 1 offsets \[3, 5\)"):
        stream.find("rollback", "run-1")
    stream.find("rollback", "run-2")
    stream.topic_id = "another"
    with pytest.raises(RecordsGone, match="was recreated"):
        stream.find("rollback", "run-2")
    assert stream.heads() == newest


def test_who_has_read_on_is_not_cut_off(stream: Standing) -> None:
    table = stream.load(B)
    head = head_of(table)
    assert head is not None
    until = datetime.now(UTC) + timedelta(days=1)
    lease = Lease(table.name(), str(table.metadata.table_uuid), "trino", head, until, "a job")
    assert take_lease(stream.catalog, lease)
    with pytest.raises(ReaderCutOff, match="lease trino has read what would be taken back"):
        stream.find("rollback", "run-1")


def test_rows_of_a_table_that_has_left_the_stream_do_not_come_twice(tmp_path: Path) -> None:
    """It does not go back with the others, so what it has got meanwhile would be read again for another table."""
    events = SimulatedStream(open_catalog(sql_settings(tmp_path)))
    first, second = events.ingest({0: 30}), events.ingest({0: 30})
    events.ingest({0: 5}, to_a)
    left = Stream(name="events", topic="events", route=ByField("kind", {"a": A}))
    declared = replace(events.declarations, streams={"events": left})
    find = partial(find_move, events.catalog, declared, ["events"], "rollback", read_topic=lambda *_: events.topic())
    assert find(run=second).changed
    with pytest.raises(RowsStay, match=f"{B} has left the stream.*they would be there twice"):
        find(run=first)
    events.catalog.drop_table(B)
    assert find(run=first).changed
