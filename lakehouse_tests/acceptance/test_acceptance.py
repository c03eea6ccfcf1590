"""The whole acceptance run, on both catalogs: every promise that can be tried here is seen, and nothing is left."""

import pytest

from lakehouse.acceptance import carry_out, scratch
from lakehouse.engines.kafka import topic_names
from lakehouse.settings import KafkaSettings, Settings
from lakehouse_tests.fixtures.lakes import Lake

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.kafka]


@pytest.mark.usefixtures("spark")
def test_every_promise_is_seen_and_nothing_is_left(lake: Lake, spark_settings: Settings, broker: KafkaSettings) -> None:
    settings = spark_settings.model_copy(update={"catalog": lake.settings, "kafka": broker})
    environ = {
        "LAKEHOUSE_CATALOG": "rest" if lake.rest else "local",
        "LAKEHOUSE__CATALOG__URI": lake.settings.address,
        "LAKEHOUSE__CATALOG__WAREHOUSE": lake.settings.warehouse,
        "LAKEHOUSE_HOME": str(settings.state.root),
    }
    namespaces = lake.catalog.list_namespaces()
    with scratch(settings, 60, lambda _: None, environ) as place:
        outcomes = {outcome.trial: outcome for outcome in carry_out(place, 600)}
    unseen = {trial: outcome.evidence for trial, outcome in outcomes.items() if outcome.verdict != "seen"}
    assert unseen == dict.fromkeys(["credentials", "scope"], "the catalog vends no credentials: clients have their own")
    assert lake.catalog.list_namespaces() == namespaces
    assert not [topic for topic in topic_names(broker) if topic.startswith(place.namespace)]
