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


@dg.asset_check(asset=dg.AssetKey(["raw", "birds"]))
def freshness_and_lag() -> dg.AssetCheckResult:
    """A check of which only a sensor tells."""
    return dg.AssetCheckResult(passed=True)


def evaluated(instance: dg.DagsterInstance, *, passed: bool, description: str) -> None:
    key = dg.AssetKey(["raw", "birds"])
    check = dg.AssetCheckEvaluation(key, "freshness_and_lag", passed=passed, description=description)
    instance.report_runless_asset_event(check)


def test_a_failed_check_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    sensor, defs = recipe("tell_us_of_checks"), dg.Definitions(asset_checks=[freshness_and_lag])
    cursor: str | None = None
    with dg.instance_for_test() as instance:

        def newly_printed() -> str:
            nonlocal cursor
            context = dg.build_sensor_context(instance=instance, cursor=cursor, definitions=defs)
            cursor = sensor.evaluate_tick(context).cursor
            return capsys.readouterr().out

        assert newly_printed() == "", "nobody has judged yet"
        evaluated(instance, passed=True, description="all is read")
        assert newly_printed() == ""
        evaluated(instance, passed=False, description="no broker answers")
        assert newly_printed() == "raw/birds:freshness_and_lag: no broker answers\n"
        assert newly_printed() == ""
        evaluated(instance, passed=False, description="still away")
        assert "still away" in newly_printed()


def test_a_failed_run_is_told() -> None:
    assert recipe("tell_us").name == "tell_us"
