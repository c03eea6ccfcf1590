"""Kill −9 at every seam of an ingest: the next run completes, nothing lands twice, and housekeeping leaves nothing.

The killed process is a client of a Spark Connect server, as in production; the next run is classic.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from lakehouse.protocol.cleanup.housekeeping import abandoned_branches, drop_branch
from lakehouse.settings import Settings
from lakehouse_tests.steps.ingest.conftest import BY_KIND, Landing, MakeLanding, thing

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.kill, pytest.mark.slow]

FEW = ["stage.between", "publish.before", "publish.after"]
OTHERS = [pytest.param(point, marks=pytest.mark.soak) for point in ("stage.before", "seal.before", "seal.after")]


@pytest.mark.parametrize("point", [*FEW, *OTHERS])
def test_the_run_after_a_killed_one_completes_it(
    landing: MakeLanding, connect_settings: Settings, tmp_path: Path, point: str
) -> None:
    stream = landing(route=BY_KIND)
    stream.send([thing(1, kind="a"), thing(2, kind="b"), b"broken"])
    stream.ingest()
    stream.send([thing(3, kind="a"), thing(4, kind="b"), thing(5, kind="c"), thing(6, kind="a")])
    ingest_and_die(stream, connect_settings, tmp_path, point)
    landed = point == "publish.after"
    assert stream.column("raw.a", "id") == ([1, 3, 6] if landed else [1])
    assert stream.holds().position == {0: 7 if landed else 3}

    report = stream.ingest(run_id="next")
    assert (report.published is None) == landed
    assert stream.column("raw.a", "id") == [1, 3, 6]
    assert stream.column("raw.b", "id") == [2, 4]
    assert stream.quarantined() == [(2, "not_json"), (5, "unknown_route")]
    proof = stream.holds()
    assert (proof.read, proof.seals) == (7, 2)

    for name in stream.declarations.tables:
        for left in abandoned_branches(stream.load(name), older_than=timedelta(0)):
            drop_branch(stream.catalog, left)
        assert list(stream.load(name).metadata.refs) == ["main"]
    assert stream.holds().read == 7


def ingest_and_die(stream: Landing, connect: Settings, folder: Path, point: str) -> None:
    arguments = {
        "catalog": stream.settings.model_dump(mode="json"),
        "home": str(connect.state.root),
        "platform": connect.platform.model_dump(),
        "kafka": stream.kafka.bootstrap_servers,
        "topic": stream.stream.topic,
    }
    with (folder / "child.log").open("wb") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", "lakehouse_tests.steps.ingest.killed_ingest", json.dumps(arguments)],
            env={**os.environ, "LAKEHOUSE_FAILPOINTS": f"{point}=kill"},
            start_new_session=True,
            stdout=log,
            stderr=log,
        )
        try:
            child.wait(timeout=180)
        finally:
            # Whatever it started must not outlive the test.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    assert child.returncode == -signal.SIGKILL, (folder / "child.log").read_text()[-3000:]
