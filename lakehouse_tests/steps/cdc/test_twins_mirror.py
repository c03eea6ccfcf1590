"""Twins: two runs of one mirror stage the same range and are held before they publish. One lands.

Guarded mechanism: the fence of a publish. Without it the rows that both appended would be there twice: an append checks
nothing by itself.
"""

import time
from pathlib import Path

import pytest

from lakehouse.protocol.leases.lease import lease_tag, leases
from lakehouse.settings import Settings
from lakehouse_tests.steps.cdc.conftest import MakeMirror, delete, upsert
from lakehouse_tests.steps.cdc.mirror_child import BUCKETS, MirrorChild

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.mark.timeout(900)
@pytest.mark.soak
@pytest.mark.parametrize("first", [True, False], ids=["first-run", "later-run"])
def test_of_two_runs_one_lands(mirrored: MakeMirror, connect_settings: Settings, tmp_path: Path, first: bool) -> None:
    things = mirrored(partitioning=BUCKETS)
    end = things.feed.append([upsert(n, n + 1, "insert", name="a") for n in range(5)])
    expected = dict.fromkeys(range(5), ("a",))
    if not first:
        things.run()
        end = things.feed.append([upsert(9, 20, "insert", name="new"), upsert(1, 20, name="b"), delete(2, 20)])
        expected = {0: ("a",), 1: ("b",), 3: ("a",), 4: ("a",), 9: ("new",)}
    gates = [tmp_path / "one", tmp_path / "other"]
    holds = [f"publish.before=hold:{gate}" for gate in gates]
    with (
        MirrorChild(things, connect_settings, tmp_path / "one.log", holds[0], "one") as twin,
        MirrorChild(things, connect_settings, tmp_path / "other.log", holds[1], "other") as other,
    ):
        for gate in gates:
            _wait_for(gate.with_name(f"{gate.name}.reached"))
        for gate in gates:
            gate.touch()
        ends = [child.ended() for child in (twin, other)]
    assert sorted(ends) == [(0, "Superseded"), (0, "published")]
    assert things.rows("name") == expected
    assert things.agree().end == end
    assert leases(things.load("changelog.things")) == {lease_tag("mirror.things"): end}
    assert things.run().kind == "idle"


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + 240
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not come"
        time.sleep(0.05)
