"""What a rollback must not break: records that have to be read again, and whoever has read on."""

from datetime import UTC, datetime, timedelta

import pytest

from lakehouse.protocol.leases.lease import Lease, take_lease
from lakehouse.protocol.seals.history import head_of
from lakehouse.steps.maintenance.rollback.promises import ReaderCutOff, RecordsGone
from lakehouse_tests.proofs.audit.simulated import B
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
