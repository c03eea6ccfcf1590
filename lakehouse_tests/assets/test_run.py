"""`lakehouse run` on the demo, from nothing, and again."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lakehouse_tests.fixtures.broker import state_with_jars
from lakehouse_tests.fixtures.spark import free_port

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(1200)]
OWN_ASSET = Path(__file__).parents[2] / "docs" / "own-asset.md"
LAKEHOUSE = str(Path(sys.executable).parent / "lakehouse")


def test_the_demo_lands_and_a_second_run_adds_nothing(tmp_path: Path, jars: Path) -> None:
    state = state_with_jars(tmp_path / "state", jars)
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("LAKEHOUSE", "DAGSTER"))}
    environ = {
        **inherited,
        "LAKEHOUSE_HOME": str(state.root),
        "LAKEHOUSE__KAFKA__BOOTSTRAP_SERVERS": f"127.0.0.1:{free_port()}",
        "COLUMNS": "160",
    }

    def lakehouse(*arguments: str) -> str:
        done = subprocess.run(
            [LAKEHOUSE, *arguments], env=environ, capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    first = lakehouse("run")
    assert "336,783 messages of topic flights = 336,776 in raw.flights + 7 in quarantine.flights" in first
    assert "336,776 flights of 2013 = 336,776 rows in raw.flights + 0 in quarantine" in first
    mirrored = "336,776 flights scheduled = 328,521 rows in mirror.flights + 8,255 cancelled and deleted"
    assert mirrored in first
    assert "1,009,870 messages of topic flight_changes = 1,009,870 in changelog.flights + 0 in" in first
    for table, rows in (("weather", "26,115"), ("planes", "3,322"), ("airports", "1,458"), ("airlines", "16")):
        assert f"{rows} in raw.{table}" in first
    assert "336,776 flights in raw.flights = 336,776 rows in features.training" in first
    assert "All 6 derived tables are of runtime date" in first
    release = re.search(r"Readers of analytics see release (analytics-\S+):", first)
    assert release
    # Known gaps of the data, which are warnings by declaration, with their size.
    assert "50,094 of 336,776 rows have one of 721 values of tailnum that no row of raw.planes has" in first
    assert "7,602 of 336,776 rows have one of 4 values of dest that no row of raw.airports has" in first
    assert "http://127.0.0.1:3000/assets/raw/planes?view=checks&checkDetail=histogram_year" in first
    for reason in ("not_json", "not_an_object", "wrong_type", "missing_field", "out_of_range", "unknown_route"):
        assert reason in first
    assert "0 failed" in first

    second = lakehouse("run")
    assert "no row was added" in second
    assert mirrored in second
    assert "336,783 messages of topic flights = 336,776 in raw.flights + 7 in quarantine.flights" in second
    assert "0 failed" in second
    assert f"Readers of analytics see release {release[1]}:" in second
    audit = lakehouse("audit")
    assert "Every promise holds" in audit
    assert "features.training" in audit
    assert release[1] in audit
    shown = json.loads(lakehouse("release", "show", "analytics", "--json"))
    assert [(one["table"], one["rows"]) for one in shown["members"]][-1] == ("features.training", 336_776)
    assert "down" in lakehouse("status"), "what was started is stopped"

    # An asset that is added later is computed although its inputs have nothing new.
    (tmp_path / "own").mkdir()
    documented = re.findall(r"```python\n(.*?)```", OWN_ASSET.read_text(), re.DOTALL)[0]
    (tmp_path / "own" / "busy_days.py").write_text(documented)
    environ["LAKEHOUSE_DECLARATIONS"] = str(tmp_path / "own")
    assert "1,095" in lakehouse("run").split("mart.busy_days", 1)[1].splitlines()[0]
