"""The recipe of the page on a Dagster of one's own tells failed checks, each once."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "own-dagster.md"


def recipe(name: str) -> Any:
    """What the block of the page defines under a name."""
    blocks = [part.split("```")[0] for part in PAGE.read_text(encoding="utf-8").split("```python\n")[1:]]
    [block] = [block for block in blocks if f"def {name}(" in block]
    defined: dict[str, Any] = {}
    exec(block, defined)
    return defined[name]


def evaluated(instance: dg.DagsterInstance, *, passed: bool, description: str) -> None:
    key = dg.AssetKey(["raw", "birds"])
    check = dg.AssetCheckEvaluation(key, "freshness_and_lag", passed=passed, description=description)
    instance.report_runless_asset_event(check)


@pytest.mark.filterwarnings("ignore:Function `EventMethods.get_event_records` is deprecated")
def test_a_failed_check_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    sensor = recipe("tell_us_of_checks")
    with dg.instance_for_test() as instance:
        evaluated(instance, passed=True, description="all is read")
        evaluated(instance, passed=False, description="no broker answers")
        tick = sensor.evaluate_tick(dg.build_sensor_context(instance=instance))
        assert capsys.readouterr().out == "raw/birds, freshness_and_lag: no broker answers\n"
        again = sensor.evaluate_tick(dg.build_sensor_context(instance=instance, cursor=tick.cursor))
        assert (capsys.readouterr().out, again.cursor) == ("", tick.cursor)
        evaluated(instance, passed=False, description="still away")
        sensor.evaluate_tick(dg.build_sensor_context(instance=instance, cursor=again.cursor))
        assert "still away" in capsys.readouterr().out


def test_a_failed_run_is_told() -> None:
    assert recipe("tell_us").name == "tell_us"
