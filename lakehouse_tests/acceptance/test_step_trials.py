"""The trials of steps, on both catalogs: every promise that can be tried here is seen."""

import pytest

from lakehouse.acceptance import TRIALS, carry_out, scratch
from lakehouse.settings import KafkaSettings, Settings
from lakehouse_tests.acceptance.conftest import environ_of
from lakehouse_tests.fixtures.lakes import Lake

pytestmark = [pytest.mark.soak, pytest.mark.slow, pytest.mark.spark, pytest.mark.kafka]
TRIALS_OF_STEPS = [trial for trial in TRIALS if trial.needs_spark]


@pytest.mark.usefixtures("spark")
def test_every_promise_of_the_steps_is_seen(lake: Lake, spark_settings: Settings, broker: KafkaSettings) -> None:
    settings = spark_settings.model_copy(update={"catalog": lake.settings, "kafka": broker})
    with scratch(settings, 60, lambda _: None, environ_of(lake, settings)) as place:
        outcomes = list(carry_out(place, 600, TRIALS_OF_STEPS))
    assert {outcome.trial: outcome.evidence for outcome in outcomes if outcome.verdict != "seen"} == {}
