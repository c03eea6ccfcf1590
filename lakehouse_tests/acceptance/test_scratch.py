"""What is made for an acceptance run is gone afterwards; what was there before stays."""

import sys

import pytest
from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

from lakehouse.acceptance import scratch
from lakehouse.acceptance.scratch import Scratch
from lakehouse.engines.kafka import create_topic, topic_names
from lakehouse.iceberg.durable_files import local_path
from lakehouse.settings import KafkaSettings, Settings
from lakehouse_tests.acceptance.conftest import environ_of
from lakehouse_tests.fixtures.lakes import SERVER_FIRST, Lake

pytestmark = [pytest.mark.slow, pytest.mark.kafka]

# A broker takes a moment to forget what it has deleted.
_forgotten = Retrying(retry=retry_if_result(bool), stop=stop_after_delay(60), wait=wait_fixed(0.1))


@pytest.mark.parametrize("lake", SERVER_FIRST, indirect=True)
def test_nothing_is_left(lake: Lake, spark_settings: Settings, broker: KafkaSettings) -> None:
    settings = spark_settings.model_copy(update={"catalog": lake.settings, "kafka": broker})
    lake.catalog.create_namespace_if_not_exists("release")  # other tests of the session may have made it
    namespaces = lake.catalog.list_namespaces()
    with scratch(settings, 60, lambda _: None, environ_of(lake, settings)) as place:
        assert all(lake.catalog.table_exists(name) for name in place.tables)
        assert not [name for name in place.tables if name.startswith("lakehouse.")]
    assert lake.catalog.list_namespaces() == namespaces
    _forgotten(lambda: [topic for topic in topic_names(broker) if topic.startswith(place.namespace)])
    warehouse = local_path(lake.settings.warehouse)
    assert warehouse is None or not (warehouse / place.namespace).exists()


class Interrupted(Exception):
    """A signal."""


def test_a_signal_while_a_topic_is_made_leaves_none(
    sql_lake: Lake, spark_settings: Settings, broker: KafkaSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = spark_settings.model_copy(update={"catalog": sql_lake.settings, "kafka": broker})
    made: list[str] = []

    def interrupted(kafka: KafkaSettings, topic: str, partitions: int) -> None:
        create_topic(kafka, topic, partitions)
        made.append(topic)
        raise Interrupted

    monkeypatch.setattr(sys.modules[Scratch.__module__], "create_topic", interrupted)
    with (
        pytest.raises(Interrupted),
        scratch(settings, 60, lambda _: None, environ_of(sql_lake, settings)),
    ):
        pass
    assert len(made) == 1
    _forgotten(lambda: set(made) & set(topic_names(broker)))
