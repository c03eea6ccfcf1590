"""Kill −9 with everything on the branch and nothing published: readers see the old table, and the next try completes.

Guarded mechanisms: a branch of the attempt's own, and pins that are found again by the same run.
"""

import json
import os
import signal
import subprocess
import sys
from datetime import timedelta

import pytest

from lakehouse.protocol.cleanup.housekeeping import abandoned_branches, drop_branch
from lakehouse.settings import Settings
from lakehouse_tests.steps.derived.workshop import Workshop

pytestmark = [pytest.mark.spark, pytest.mark.kill, pytest.mark.slow]


@pytest.mark.timeout(600)
def test_a_run_that_is_killed_before_it_publishes_is_completed_by_its_retry(
    workshop: Workshop, connect_settings: Settings
) -> None:
    derived = workshop.derived("totals")
    workshop.run(derived, run="before")
    before = workshop.head("totals")
    workshop.sell(("Rome", 7))
    arguments = {
        "catalog": workshop.settings.model_dump(mode="json"),
        "home": str(connect_settings.state.root),
        "platform": connect_settings.platform.model_dump(),
        "namespace": workshop.namespace,
        "run": "killed",
    }
    child = subprocess.run(
        [sys.executable, "-m", "lakehouse_tests.steps.derived.derive_child", json.dumps(arguments)],
        env={**os.environ, "LAKEHOUSE_FAILPOINTS": "publish.before=kill"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert child.returncode == -signal.SIGKILL, child.stderr
    assert workshop.head("totals") == before
    assert len(workshop.branches("totals")) == 1
    workshop.sell(("Rome", 100))
    workshop.run(derived, run="killed")
    assert workshop.rows("totals") == [("Bonn", 4), ("Kiel", 3), ("Rome", 7)], "of the moment that was pinned"
    for left in abandoned_branches(workshop.load("totals"), older_than=timedelta(0)):
        drop_branch(workshop.catalog, left)
    assert workshop.branches("totals") == []
    assert workshop.rows("totals") == [("Bonn", 4), ("Kiel", 3), ("Rome", 7)]
