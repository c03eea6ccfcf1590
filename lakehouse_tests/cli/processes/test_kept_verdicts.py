"""A verdict on rows stands as long as tables, judge and files are the same, and no longer."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pandera.pyspark as pa
import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.cli.processes.kept_verdicts import JUDGED_BY_TAG, kept_verdicts
from lakehouse.declarations import Declarations, References
from lakehouse.orchestration.checks.judged_state import (
    judged_state,
    judged_tables,
    pinned_tables,
    state_of,
    with_state,
)
from lakehouse.orchestration.dagster_names import DagsterNames
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import Lake

NAMES = DagsterNames()


class Judged:
    """A table with a key that refers to another one, and a record of what was said of it."""

    def __init__(self, lake: Lake, instance: dg.DagsterInstance) -> None:
        self.lake, self.name, self.other, self.instance = lake, lake.create("a"), lake.create("b"), instance
        lake.write("first", a=[1, 2], b=[1, 2])
        self.ours: Any = SimpleNamespace(names=NAMES, declarations=self.declared(), catalog=lake.catalog)
        self.key = dg.AssetCheckKey(NAMES.key(self.name), "unique_key")

    def declared(self, **more: Any) -> Declarations:
        columns = {"n": pa.Column(T.LongType())}
        expects = References(columns=("n",), table=self.other)
        table = declare(columns, name=self.name, **{"key": ("n",), "expects": (expects,), **more})
        return Declarations({self.name: table, self.other: declare(columns, name=self.other)}, {}, {})

    def judge(
        self, *, passed: bool = True, warns: bool = False, digest: str = "same", name: str = "unique_key"
    ) -> None:
        declared = self.ours.declarations
        group = pinned_tables(self.lake.catalog, judged_tables(self.name, declared))
        state = judged_state(self.name, declared, {name: state_of(pinned) for name, pinned in group.items()})

        @dg.asset_check(asset=self.key.asset_key, name=name)
        def check() -> dg.AssetCheckResult:
            severity = dg.AssetCheckSeverity.WARN if warns else dg.AssetCheckSeverity.ERROR
            return with_state(dg.AssetCheckResult(passed=passed, severity=severity), state)

        job = dg.Definitions(asset_checks=[check], jobs=[dg.define_asset_job("j", dg.AssetSelection.checks(check))])
        assert job.resolve_job_def("j").execute_in_process(instance=self.instance, tags={JUDGED_BY_TAG: digest}).success

    def skip(self, *, failing: bool = False) -> None:
        """A run in which the check is planned, and skipped as its asset has nothing new."""

        @dg.asset(key=self.key.asset_key, output_required=False)
        def nothing_new() -> Iterator[dg.Output[None]]:
            if failing:
                raise dg.Failure("no disk")
            yield from ()

        @dg.asset_check(asset=self.key.asset_key, name=self.key.name)
        def check() -> dg.AssetCheckResult:
            raise AssertionError("it is skipped")

        dg.materialize([nothing_new, check], instance=self.instance, raise_on_error=False)

    def kept(self, *more: dg.AssetCheckKey) -> set[dg.AssetCheckKey]:
        return set(kept_verdicts(self.ours, self.instance, [self.key, *more], "same"))


@pytest.fixture
def judged(sql_lake: Lake) -> Iterator[Judged]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield Judged(sql_lake, instance)


def test_it_stands_on_the_same_snapshot_alone(judged: Judged) -> None:
    """Guarded mechanism: what another snapshot holds, nobody has looked at."""
    assert judged.kept() == set(), "nobody has asked"
    judged.judge()
    assert judged.kept() == {judged.key}
    judged.lake.write("second", a=[3])
    assert judged.kept() == set()
    judged.judge()
    assert judged.kept() == {judged.key}


def test_what_a_table_is_compared_with_ends_it_as_well(judged: Judged) -> None:
    judged.judge()
    judged.lake.write("second", b=[3])
    assert judged.kept() == set()
    judged.judge()
    judged.lake.catalog.drop_table(tuple(judged.other.split(".")))
    assert judged.kept() == set()


def test_what_changes_metadata_alone_ends_it_and_a_tag_does_not(judged: Judged) -> None:
    """A column that somebody drops leaves the snapshot as it is; a release tags what was judged."""
    judged.judge()
    table = judged.lake.load(judged.name)
    assert table.metadata.current_snapshot_id is not None
    table.manage_snapshots().create_tag(table.metadata.current_snapshot_id, "release-1").commit()
    assert judged.kept() == {judged.key}
    with judged.lake.load(judged.name).update_schema() as update:
        update.delete_column("s")
    assert judged.kept() == set()


def test_a_rule_that_was_computed_anew_ends_it(judged: Judged) -> None:
    """The same file may say another thing tomorrow: a bound that is a date, values that are read from elsewhere."""
    judged.judge()
    judged.ours.declarations = judged.declared(key=())
    asked = dg.AssetCheckKey(judged.key.asset_key, f"references_{judged.other.replace('.', '_')}")
    assert judged.kept(asked) == set()
    judged.judge(name=asked.name)
    assert judged.kept(asked) == {asked}


def test_a_run_that_left_the_check_out_says_nothing_and_one_that_failed_ends_it(judged: Judged) -> None:
    """Guarded mechanism: each run plans every check, and skips those of tables that have nothing new."""
    judged.judge()
    judged.skip()
    assert judged.kept() == {judged.key}
    judged.skip(failing=True)
    assert judged.kept() == set()


def test_what_failed_or_was_judged_by_other_code_is_asked_again(judged: Judged) -> None:
    judged.judge(digest="other")
    assert judged.kept() == set()
    judged.judge()
    judged.judge(passed=False)
    assert judged.kept() == set()


def test_a_known_gap_is_told_again_as_it_was(judged: Judged) -> None:
    """Guarded mechanism: a warning that stands is a warning, and no pass."""
    judged.judge(passed=False, warns=True)
    verdicts = kept_verdicts(judged.ours, judged.instance, [judged.key], "same")
    assert [(verdict.passed, verdict.severity) for verdict in verdicts.values()] == [
        (False, dg.AssetCheckSeverity.WARN)
    ]


def test_a_file_that_is_gone_ends_it(judged: Judged) -> None:
    """Guarded mechanism: whether the files are there is asked anew each time."""
    judged.judge()
    for task in judged.lake.load(judged.name).scan().plan_files():
        Path(task.file.file_path.removeprefix("file://")).unlink()
    assert judged.kept() == set()


def test_a_check_that_asks_more_than_tables_is_asked_again(judged: Judged) -> None:
    other = dg.AssetCheckKey(judged.key.asset_key, "freshness_and_lag")
    judged.judge(name="freshness_and_lag")
    assert other not in judged.kept(other)
