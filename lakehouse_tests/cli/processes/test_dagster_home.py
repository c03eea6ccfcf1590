import shutil
from datetime import timedelta
from pathlib import Path

import dagster as dg

from lakehouse.protocol.cleanup.housekeeping import LONGEST_RUN
from lakehouse_tests.fixtures.broker import REPOSITORY


def test_a_run_that_hangs_is_ended_before_its_branches_are_given_up(tmp_path: Path) -> None:
    shutil.copyfile(REPOSITORY / "dagster.yaml", tmp_path / "dagster.yaml")
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        assert instance.run_monitoring_enabled
        longest = timedelta(seconds=instance.run_monitoring_max_runtime_seconds)
    assert timedelta(0) < longest < LONGEST_RUN
