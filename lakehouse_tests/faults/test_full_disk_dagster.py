"""Dagster's storage is full at any point of a run: it fails and says so, no row is doubled or half there, and the next
run goes on.

Guarded mechanism: what was done is in the seal, not in Dagster's events; a full disk is recognised in any error.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from lakehouse.orchestration.resources import Lake
from lakehouse_tests.faults.small_disk import SmallDisk, mounted
from lakehouse_tests.orchestration.assets.flock import DAYS, new_flock
from lakehouse_tests.orchestration.assets.house import House

pytestmark = pytest.mark.slow


@pytest.fixture
def dagster_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A disk for Dagster's runs and events alone."""
    (tmp_path / "state").mkdir()
    with mounted(tmp_path / "state" / "dagster", mib=16) as disk:
        yield disk


CHECK = '''

@dg.asset_check(asset=["raw", "flock"])
def pairs(lake: dg.ResourceParam[Lake]) -> dg.AssetCheckResult:
    """Each run of the asset has seen a bird on either day, or it has seen none."""
    return dg.AssetCheckResult(passed=lake.arrow("raw.flock").num_rows % 2 == 0)
'''


@pytest.fixture
def flock(dagster_disk: SmallDisk, tmp_path: Path, jars: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """A table that an asset of its own fills, written once, with a check."""
    del dagster_disk
    with new_flock(tmp_path, jars, monkeypatch, writes=1) as house:
        file = house.conf / "declarations" / "flock.py"
        file.write_text(file.read_text() + CHECK)
        yield house


def rows(flock: House) -> int:
    return flock.lake().arrow("raw.flock").num_rows


def refused(flock: House, disk: SmallDisk) -> None:
    """The run fails in one line, which names the disk."""
    done = flock.command("run", exit_code=2)
    (line,) = [line for line in done.output.splitlines() if line.startswith("error: ")]
    assert f"The disk {disk.folder} is full. Remedy: free some space there" in line


def newest(flock: House) -> str:
    """The snapshot of the table of which Dagster knows."""
    event = flock.instance.get_latest_materialization_event(dg.AssetKey(["raw", "flock"]))
    assert event is not None
    assert event.asset_materialization is not None
    return str(event.asset_materialization.metadata["snapshot id"].value)


def test_before_a_run(flock: House, dagster_disk: SmallDisk) -> None:
    with dagster_disk.full():
        refused(flock, dagster_disk)
        assert rows(flock) == len(DAYS)
    flock.command("run")
    assert rows(flock) == 2 * len(DAYS)


@pytest.mark.parametrize("landed", [False, True], ids=["before the publish", "after the publish"])
def test_within_a_step(flock: House, dagster_disk: SmallDisk, landed: bool) -> None:
    real = Lake.write

    def on_a_full_disk(*args: Any, **more: Any) -> Any:
        if not landed:
            dagster_disk.fill()
        written = real(*args, **more)
        if landed:
            dagster_disk.fill()
        return written

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Lake, "write", on_a_full_disk)
        refused(flock, dagster_disk)
    there = rows(flock)
    assert there == (2 * len(DAYS) if landed else len(DAYS)), "a publish is there whole, or not at all"
    head = flock.lake().pin("raw.flock")["raw.flock"].snapshot_id
    dagster_disk.make_room()
    output = flock.command("run").output
    assert "ended 1 run of killed processes" in output
    assert ("told Dagster of 1 materialization of killed runs" in output) is landed
    assert rows(flock) == there + len(DAYS)
    assert str(head) != newest(flock) == str(flock.lake().pin("raw.flock")["raw.flock"].snapshot_id)
    assert flock.command("audit").exit_code == 0
