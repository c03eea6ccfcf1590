"""What ships switched off, and where nothing starts at all."""

from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest

from lakehouse.build import build_defs
from lakehouse.declarations import Stream, ToTable
from lakehouse.declarations.policies.trigger import Trigger
from lakehouse.orchestration.automation.sensor_options import BRANCH_VARIABLE, SensorOptions
from lakehouse.settings import AutomationSettings, KafkaSettings, load_settings
from lakehouse_tests.orchestration.assets.house import NESTS, STREAM, TABLE, write_conf

RUNNING, STOPPED = dg.DefaultSensorStatus.RUNNING, dg.DefaultSensorStatus.STOPPED


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    folder = write_conf(tmp_path, KafkaSettings(bootstrap_servers="127.0.0.1:1"), tmp_path)
    (folder / "declarations" / "birds.py").write_text(TABLE)
    slow = STREAM.replace("max_quarantine_share=0.5", "trigger=Trigger(every=timedelta(minutes=1))")
    slow = slow.replace("from lakehouse import", "from datetime import timedelta\nfrom lakehouse import Trigger,")
    (folder / "declarations" / "sightings.py").write_text(slow.format(topic="birds"))
    (folder / "declarations" / "nests.py").write_text(NESTS.format(name="nests", topic="nests", target_lag=60))
    return folder


def statuses(conf: Path, **environ: str) -> dict[str, dg.DefaultSensorStatus]:
    defs = build_defs(load_settings(conf, environ))
    return {
        sensor.name: sensor.default_status for sensor in defs.sensors or [] if isinstance(sensor, dg.SensorDefinition)
    }


def test_what_deletes_is_switched_off_until_somebody_says_so(conf: Path) -> None:
    shipped = statuses(conf)
    assert shipped.pop("upkeep") is STOPPED
    assert set(shipped) == {"birds_lag", "nests_lag", "mirror_nests_follows", "audit_log"}
    assert set(shipped.values()) == {RUNNING}
    asked = statuses(conf, LAKEHOUSE__AUTOMATION__START_MAINTENANCE="true")
    assert set(asked.values()) == {RUNNING}
    assert set(statuses(conf, LAKEHOUSE__AUTOMATION__START="false").values()) == {STOPPED}


def test_a_branch_deployment_starts_nothing_whatever_the_settings_say(
    conf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(BRANCH_VARIABLE, "1")
    assert set(statuses(conf, LAKEHOUSE__AUTOMATION__START_MAINTENANCE="true").values()) == {STOPPED}


def test_how_often_a_sensor_looks_is_a_setting_and_a_streams_own(conf: Path) -> None:
    defs = build_defs(load_settings(conf, {"LAKEHOUSE__AUTOMATION__EVERY_SECONDS": "30"}))
    seconds = {sensor.name: sensor.minimum_interval_seconds for sensor in defs.sensors or []}
    assert (seconds["birds_lag"], seconds["nests_lag"], seconds["mirror_nests_follows"]) == (60, 30, 30)


def test_a_streams_own_cadence_comes_first(conf: Path) -> None:
    settings = load_settings(conf, {})
    automation = AutomationSettings(every_seconds=7, patience_seconds=70, enough_records=700)
    options = SensorOptions.of(settings.model_copy(update={"automation": automation}), {})
    plain = Stream(name="a", topic="a", route=ToTable("raw.a"))
    assert options.for_stream(plain) == options
    assert (options.every_seconds, options.patience, options.enough_records) == (7, timedelta(seconds=70), 700)
    own = Stream(
        name="a",
        topic="a",
        route=ToTable("raw.a"),
        trigger=Trigger(every=timedelta(seconds=2), patience=timedelta(0), enough_records=1),
    )
    chosen = options.for_stream(own)
    assert (chosen.every_seconds, chosen.patience, chosen.enough_records) == (2, timedelta(0), 1)
