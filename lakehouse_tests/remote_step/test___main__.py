"""A step by `spark-submit`: Dagster is killed, or its driver; what it lands is there once."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import yaml

from lakehouse.engines.submit.driver_job import DriverJob
from lakehouse.engines.submit.job_folder import JobFolder, newest_folder
from lakehouse.proofs.audit import audit_stream
from lakehouse_tests.fixtures.environ import clean_environ
from lakehouse_tests.fixtures.spark import PLATFORM
from lakehouse_tests.orchestration.assets.house import House, house, materializations

__all__ = ["house"]
pytestmark = [pytest.mark.kill, pytest.mark.kafka, pytest.mark.spark, pytest.mark.soak]
FIRST, SECOND = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"
ELSEWHERE = "lakehouse_tests.orchestration.assets.elsewhere"


def wait_for(file: Path) -> None:
    deadline = time.monotonic() + 200
    while not file.exists():
        assert time.monotonic() < deadline, f"{file} did not come"
        time.sleep(0.05)


def folder_of_run(house: House, execution: str) -> JobFolder:
    return newest_folder(house.settings, "ingest_birds", execution)


def group_of(folder: JobFolder) -> int:
    return int((Path(folder.location) / "driver.pid").read_text().split()[0])


def materialize(house: House, run_id: str) -> tuple[bool, set[str]]:
    """Run the stream's step as a run of this id, in this process."""
    job = house.defs().resolve_implicit_global_asset_job_def()
    keys = {
        key for key in job.asset_layer.executable_asset_keys if key.path in (["raw", "birds"], ["quarantine", "birds"])
    }
    result = job.get_subset(asset_selection=keys, asset_check_selection=set()).execute_in_process(
        instance=house.instance, run_id=run_id, raise_on_error=False
    )
    return result.success, set(materializations(result))


def test_what_is_killed_is_found_and_finished_once(
    house: House, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    platform = house.conf / "platforms" / "test.yaml"
    platform.write_text(yaml.safe_dump({**PLATFORM, "mode": "submit"}))
    house.birds(10)
    gate = house.root / "gate"
    armed = clean_environ(LAKEHOUSE_FAILPOINTS=f"publish.before=hold:{gate}")
    with subprocess.Popen([sys.executable, "-m", ELSEWHERE, str(house.conf), FIRST, "birds"], env=armed) as dagster:
        wait_for(Path(f"{gate}.reached"))
        dagster.kill()
    folder = folder_of_run(house, FIRST)
    assert DriverJob(Path(folder.location)).running(), "the driver goes on when Dagster is killed"
    assert not folder.watched
    gate.touch()
    assert materialize(house, FIRST) == (True, {"raw.birds", "quarantine.birds"})
    assert house.lake().arrow("raw.birds").num_rows == 10
    assert [entry.name for entry in Path(folder.location).parent.iterdir()] == ["1"], "it was launched once"
    assert folder.settled

    house.birds(5)
    second = house.root / "second"
    monkeypatch.setenv("LAKEHOUSE_FAILPOINTS", f"publish.before=hold:{second}")

    def kill_driver() -> None:
        wait_for(Path(f"{second}.reached"))
        os.killpg(group_of(folder_of_run(house, SECOND)), signal.SIGKILL)

    killer = threading.Thread(target=kill_driver)
    killer.start()
    assert materialize(house, SECOND) == (False, set())
    killer.join()
    assert "did not say how its step did" in capfd.readouterr().err
    assert house.lake().arrow("raw.birds").num_rows == 10, "nothing of it was published"
    monkeypatch.delenv("LAKEHOUSE_FAILPOINTS")
    platform.write_text(yaml.safe_dump(PLATFORM))
    assert house.run("raw.birds", "quarantine.birds").success
    assert house.lake().arrow("raw.birds").num_rows == 15
    proof = audit_stream(house.lake().catalog, "birds", ("raw.birds", "quarantine.birds"))
    assert proof.holds, proof.findings
