"""What lets a run delete: the digest of a plan that was shown, once, and not of one that no longer holds."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from lakehouse.declarations import ORPHANS, Declarations, Expire, Maintenance
from lakehouse.protocol.catalog import TableChange, set_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.history import MAIN
from lakehouse.steps.maintenance import approval as approving
from lakehouse.steps.maintenance.log.history import History
from lakehouse.steps.maintenance.model.action import Action, Operation
from lakehouse.steps.maintenance.model.state import Partition
from lakehouse.steps.maintenance.plan.budget import Budget
from lakehouse.steps.maintenance.step import MaintainStep, maintain
from lakehouse.steps.maintenance.survey import Surveyed, TableSurvey
from lakehouse_tests.fixtures.lakes import Lake

EXPIRES = Maintenance(
    rewrite=None, manifests=None, orphans=None, expire=Expire(min_snapshots_to_keep=2, max_snapshots=3, at_least=1)
)


def no_spark() -> AbstractContextManager[SparkSession]:
    raise AssertionError("this needs no Spark")


@dataclass
class Kept:
    """A table with more snapshots than its policy keeps."""

    lake: Lake
    name: str
    declarations: Declarations

    @classmethod
    def of(cls, lake: Lake) -> "Kept":
        """Make it."""
        name = lake.create("a")
        declared = replace(ORPHANS, name=name, maintenance=EXPIRES)
        kept = cls(lake, name, Declarations({name: declared}, {}, {}))
        kept.grow(6)
        return kept

    @property
    def snapshots(self) -> list[int]:
        """All of them, oldest first."""
        return [snapshot.snapshot_id for snapshot in self.lake.load(self.name).metadata.snapshots]

    def grow(self, times: int) -> None:
        """Commits of a writer."""
        for number in range(times):
            self.lake.write(f"s{len(self.snapshots)}.{number}", a=[number])

    def look(self) -> Surveyed:
        """What is due now."""
        now, catalog = datetime.now(UTC), self.lake.catalog
        memory = History.read(catalog, now)
        survey = TableSurvey(catalog=catalog, declarations=self.declarations, memory=memory, budget=Budget(), now=now)
        surveyed = survey.look(self.declarations.tables[self.name])
        assert surveyed is not None
        return surveyed

    def shown(self) -> str:
        """A plan that somebody was shown."""
        return approving.show(self.lake.catalog, self.look(), writer="a person")

    def run(self, *approvals: str, policy: Maintenance = EXPIRES) -> tuple[str, str]:
        """A run with approvals: how it ended, and why."""
        step = MaintainStep(
            catalog=self.lake.catalog,
            declarations=self.declarations,
            table=replace(self.declarations.tables[self.name], maintenance=policy),
            session=no_spark,
            attempt=Attempt("run", f"maintain:{self.name}"),
            approvals=approvals,
        )
        [outcome] = maintain(step).outcomes
        return outcome.result, outcome.message


@pytest.fixture
def kept(sql_lake: Lake) -> Kept:
    return Kept.of(sql_lake)


def test_the_plan_that_was_shown_is_done_once(kept: Kept) -> None:
    digest, before = kept.shown(), kept.snapshots
    kept.grow(1)  # a writer does not wait for people
    assert kept.run("f" * 32, digest)[0] == "done"
    assert not set(before[:3]) & set(kept.snapshots)
    kept.grow(4)
    left = kept.snapshots
    result, message = kept.run(digest)
    assert (result, kept.snapshots) == ("dry_run", left)
    assert message.endswith(f"nothing was deleted: the approval of plan {digest} is stale: expire was done since")


def test_what_a_run_has_shown_can_be_approved_of(kept: Kept) -> None:
    assert kept.run()[0] == "dry_run"
    [row] = [row for row in History.read(kept.lake.catalog, datetime.now(UTC)).rows if not row.finished]
    assert kept.run(row.state_digest)[0] == "done"


def test_nobody_guesses_a_digest(kept: Kept) -> None:
    before = kept.snapshots
    unwritten = kept.look().plan.state_digest
    result, message = kept.run("0" * 32, unwritten)
    assert result == "dry_run"
    for digest in ("0" * 32, unwritten):
        assert f"no plan {digest} was shown that has expire for this table" in message
    assert kept.shown() != kept.shown()
    assert kept.snapshots == before


def test_the_plan_of_another_table_allows_nothing(kept: Kept) -> None:
    other = kept.lake.create("b")
    elsewhere = Kept(kept.lake, other, Declarations({other: replace(ORPHANS, name=other, maintenance=EXPIRES)}, {}, {}))
    for number in range(6):
        kept.lake.write(f"o{number}", b=[number])
    assert kept.run(elsewhere.shown())[0] == "dry_run"


def test_a_table_that_was_set_back_since_was_not_shown(kept: Kept) -> None:
    digest, left = kept.shown(), kept.snapshots
    table = kept.lake.load(kept.name)
    kept.lake.catalog.commit_tables([TableChange(table.name(), (), (set_branch(MAIN, left[-2]),))])
    result, message = kept.run(digest)
    assert (result, kept.snapshots) == ("dry_run", left)
    assert "is no longer in the history of main" in message


def test_a_table_that_was_declared_otherwise_since_was_not_shown(kept: Kept) -> None:
    digest, left = kept.shown(), kept.snapshots
    other = replace(EXPIRES, expire=Expire(min_snapshots_to_keep=2, max_snapshots=2, at_least=1))
    result, message = kept.run(digest, policy=other)
    assert (result, kept.snapshots) == ("dry_run", left)
    assert "the table is declared otherwise since" in message


def test_an_approval_ends_after_a_day(kept: Kept) -> None:
    digest = kept.shown()
    surveyed, memory = kept.look(), History.read(kept.lake.catalog, datetime.now(UTC))
    [action] = surveyed.plan.actions
    assert not approving.approval([digest], memory, surveyed, action).refusal
    later = replace(surveyed, state=replace(surveyed.state, measured_at=surveyed.state.measured_at + timedelta(days=1)))
    assert "more than 1 day" in approving.approval([digest], memory, later, action).refusal


@pytest.mark.parametrize(("due", "done"), [(["x", "y"], ["x"]), (["y"], None)])
def test_only_partitions_that_were_shown(kept: Kept, due: Sequence[str], done: Sequence[str] | None) -> None:
    surveyed = kept.look()

    def removes(*keys: str) -> Action:
        return Action(operation=Operation.DEDUPLICATE, partitions=tuple(Partition(key=key, name=key) for key in keys))

    digest = approving.show(
        kept.lake.catalog, replace(surveyed, plan=replace(surveyed.plan, actions=(removes("x"),))), writer="a person"
    )
    memory = History.read(kept.lake.catalog, datetime.now(UTC))
    allowed = approving.approval([digest], memory, surveyed, removes(*due))
    assert [partition.key for partition in allowed.action.partitions] == list(done or due)
    assert ("what is due now are other partitions" in allowed.refusal) == (done is None)
