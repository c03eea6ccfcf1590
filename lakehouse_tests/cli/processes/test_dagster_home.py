import shutil
from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest
from dagster import DagsterRunStatus

from lakehouse.cli.processes.dagster_home import (
    DagsterHome,
    DagsterHomeMissing,
    alive,
    end_dead_runs,
    prepare_home,
)
from lakehouse.orchestration.run_context import PROCESS_TAG
from lakehouse.protocol.cleanup.housekeeping import LONGEST_RUN
from lakehouse.settings import Settings, load_settings
from lakehouse.settings.state import StateFolder
from lakehouse_tests.fixtures.broker import REPOSITORY


def test_a_run_that_hangs_is_ended_before_its_branches_are_given_up(tmp_path: Path) -> None:
    shutil.copyfile(REPOSITORY / "dagster.yaml", tmp_path / "dagster.yaml")
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        assert instance.run_monitoring_enabled
        longest = timedelta(seconds=instance.run_monitoring_max_runtime_seconds)
    assert timedelta(0) < longest < LONGEST_RUN


def _settings(tmp_path: Path) -> Settings:
    settings = load_settings(REPOSITORY / "conf", {})
    return settings.model_copy(update={"state": StateFolder(tmp_path / "state")})


@pytest.fixture(autouse=True)
def _undone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DAGSTER_HOME", "LAKEHOUSE_CONF", "LAKEHOUSE_DECLARATIONS"):
        monkeypatch.setenv(name, "")


def test_a_home_that_is_set_is_used_and_nothing_is_written_into_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    monkeypatch.setenv("DAGSTER_HOME", str(theirs))
    assert prepare_home(_settings(tmp_path)) == DagsterHome(theirs, own=False)
    assert not list(theirs.iterdir())
    with dg.DagsterInstance.get() as instance:
        assert instance.root_directory == str(theirs)


def test_without_one_it_is_ours_also_when_it_is_asked_for_again(tmp_path: Path) -> None:
    settings = _settings(tmp_path)
    for _ in range(2):
        assert prepare_home(settings) == DagsterHome(settings.state.dagster, own=True)
    assert (settings.state.dagster / "dagster.yaml").is_file()


def test_a_home_that_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(DagsterHomeMissing, match="nowhere"):
        prepare_home(_settings(tmp_path))


def test_in_a_shared_instance_only_our_own_dead_runs_are_ended(tmp_path: Path) -> None:
    ours, theirs = StateFolder(tmp_path / "ours"), StateFolder(tmp_path / "theirs")
    with dg.DagsterInstance.ephemeral() as instance:

        def run(mark: str | None) -> str:
            tags = {} if mark is None else {PROCESS_TAG: mark}
            return instance.create_run_for_job(empty, status=DagsterRunStatus.STARTED, tags=tags).run_id

        with alive(ours) as dead, alive(theirs) as elsewhere:
            pass
        with alive(ours) as living:
            gone, kept = run(dead), [run(living), run(elsewhere), run(None)]
            assert end_dead_runs(instance, ours, unmarked=False) == [gone]
        left = instance.get_run_ids(dg.RunsFilter(statuses=[DagsterRunStatus.STARTED]))
        assert set(left) == set(kept)


@dg.job
def empty() -> None:
    """Nothing to do."""
