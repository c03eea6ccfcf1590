"""Which snapshot of a member is released."""

import pytest

from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.history import is_rewrite
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.release.candidates import candidates
from lakehouse.steps.release.gate.results import Check, Result
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.steps.cdc.conftest import compact
from lakehouse_tests.steps.release.conftest import DATE, Group, MakeGroup

pytestmark = pytest.mark.slow


@pytest.fixture
def made(sql_group: MakeGroup) -> Group:
    """A group whose members are fit to be released."""
    group = sql_group()
    group.make()
    return group


def rewrite(group: Group, spark_on: SparkOn, short: str) -> int:
    """Arrange the same rows in other files; returns the snapshot."""
    with spark_on(group.lake.settings) as spark:
        spark.sql(compact(group.name(short))).collect()
    head = group.load(short).current_snapshot()
    assert head is not None
    assert is_rewrite(head)
    return head.snapshot_id


def maintained(group: Group, short: str) -> int:
    """Maintenance seals what it did with a copy of what was sealed before."""
    base = read_bases(group.catalog, [group.name(short)])[group.name(short)]
    assert base.sealed
    attempt = Attempt("maintenance", "maintain", runtime_date="2013-06-01")
    seal = Seal.of(attempt, "maintenance", statement=base.sealed.seal.statement, previous=base.sealed.seal)
    return group.publish_seal(base, attempt, seal)


@pytest.mark.spark
def test_what_was_judged_is_released_though_it_was_rewritten_since(made: Group, spark_on: SparkOn) -> None:
    judged, checks = made.head("a"), made.checks()
    rewritten = rewrite(made, spark_on, "a")
    maintained(made, "a")
    # Results from before and after a rewrite are of one content: the newest snapshot that one names is released.
    both = [*checks, Check(made.name("a"), "other", (Result("passed", rewritten),))]
    assert candidates({"a": made.load("a")}, "a", {})["a"].choose([judged, rewritten]) == rewritten
    done = made.release(checks=checks)
    assert done.members[0].snapshot_id == judged
    assert (done.members[0].run_id, done.members[0].runtime_date) == ("run-1", DATE)
    assert made.release("again", both).outcome == "unchanged"
