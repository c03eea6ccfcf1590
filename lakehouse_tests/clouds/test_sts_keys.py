"""A catalog, a store and an STS that others maintain: what is lent ends after 15 minutes, and opens one table.

`acceptance/test_matrix.py` tries every promise there; here a client outlives what it was lent.
"""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lakehouse.acceptance import scratch
from lakehouse.acceptance.messages import orders
from lakehouse.doctor.catalog.probe_object import probe_object
from lakehouse.engines.kafka import send
from lakehouse.protocol.catalog.rest_catalog import lent_storage
from lakehouse.settings import KafkaSettings, Settings
from lakehouse.steps.ingest.workers.lent_credentials import CredentialsEnded
from lakehouse_tests.clouds.connected import connected_to
from lakehouse_tests.clouds.ingests import ingest_orders, let_keys_end, order_ids, require_exactly_once
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.seaweedfs import KEY_SECONDS

pytestmark = [pytest.mark.soak, pytest.mark.clouds, pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(5400)]
_OUTLIVED = KEY_SECONDS + 60
_WHOLE_RUN = 40 * 60


@pytest.fixture
def connected(seaweedfs_lake: Lake, tmp_path: Path, jars: Path, broker: KafkaSettings) -> Iterator[Settings]:
    """Spark that has no key of the store."""
    with connected_to(seaweedfs_lake, tmp_path, jars, broker) as settings:
        yield settings


def test_what_is_lent_opens_one_table(seaweedfs_lake: Lake) -> None:
    mine, other = seaweedfs_lake.create("a"), seaweedfs_lake.create("b")
    seaweedfs_lake.write("first", a=[1, 2], b=[3])
    assert seaweedfs_lake.rows(mine) == [1, 2]
    io = seaweedfs_lake.load(mine).io
    with pytest.raises(OSError, match="ACCESS_DENIED"):
        io.new_input(seaweedfs_lake.load(other).metadata_location).open()
    [tried] = probe_object(seaweedfs_lake.load(mine).location(), io.properties)
    assert tried.state == "well", tried.message


def test_forty_minutes(connected: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ingests for ten minutes, a job that outlives its keys, small ones again; one client, one Spark session."""
    begun, sent = time.monotonic(), 0
    with scratch(connected, 60, lambda _: None, {}) as place:

        def until(seconds: float) -> None:
            nonlocal sent
            while time.monotonic() - begun < seconds:
                send(connected.kafka, place.orders_topic, orders(sent, 2000))
                sent += 2000
                ingest_orders(place)

        until(10 * 60)
        let_keys_end(monkeypatch, _OUTLIVED, times=1)
        until(time.monotonic() - begun + 1)
        until(_WHOLE_RUN)
        assert order_ids(place) == list(range(sent))
        require_exactly_once(place)


def test_without_renewal_nothing_is_half_there(connected: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    with scratch(connected, 60, lambda _: None, {}) as place:
        send(connected.kafka, place.orders_topic, orders(0, 50))
        ingest_orders(place)
        send(connected.kafka, place.orders_topic, orders(50, 50))
        with monkeypatch.context() as broken:
            broken.setattr(lent_storage, "_due", lambda _: datetime.max.replace(tzinfo=UTC))
            let_keys_end(broken, _OUTLIVED, times=1)
            with pytest.raises(CredentialsEnded):
                ingest_orders(place)
        assert order_ids(place) == list(range(50))
        ingest_orders(place)
        assert order_ids(place) == list(range(100))
        require_exactly_once(place)
