"""The trials of steps, on both catalogs: every promise that can be tried here is seen."""

import pytest

from lakehouse.acceptance import TRIALS, carry_out, scratch
from lakehouse.acceptance.trial import Trial
from lakehouse.settings import KafkaSettings, Settings
from lakehouse_tests.acceptance.conftest import environ_of
from lakehouse_tests.fixtures.lakes import Lake

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.kafka]
STEPS = {trial.name: trial for trial in TRIALS if trial.needs_spark}
FEW = [STEPS["exactly once"], STEPS["release"]]
ALL = list(STEPS.values())
CASES = [
    pytest.param("sql_lake", FEW, id="sql-few"),
    pytest.param("sql_lake", ALL, id="sql-all", marks=pytest.mark.soak),
    pytest.param("rest_lake", ALL, id="rest-all", marks=[pytest.mark.rest, pytest.mark.soak]),
]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(("lake", "trials"), CASES, indirect=["lake"])
def test_every_promise_of_the_steps_is_seen(
    lake: Lake, spark_settings: Settings, broker: KafkaSettings, trials: list[Trial]
) -> None:
    settings = spark_settings.model_copy(update={"catalog": lake.settings, "kafka": broker})
    with scratch(settings, 60, lambda _: None, environ_of(lake, settings)) as place:
        outcomes = list(carry_out(place, 600, trials))
    assert {outcome.trial: outcome.evidence for outcome in outcomes if outcome.verdict != "seen"} == {}
