from dataclasses import replace
from datetime import UTC, datetime, timedelta

from lakehouse.orchestration.automation.backoff import FIRST_PAUSE, LONGEST_PAUSE, Failures, pause
from lakehouse.orchestration.automation.mirror_decision import MANY, SHARE, decide_mirror
from lakehouse.orchestration.automation.stream_decision import RETRY_AFTER, Decision
from lakehouse.steps.cdc.status import MirrorStanding

NOW = datetime(2026, 5, 14, 12, 0, tzinfo=UTC)
TARGET = timedelta(minutes=5)
BEHIND = MirrorStanding("mirror.flights", snapshot_id=7, newest=11, waiting=3, since=NOW - TARGET)


def due(
    standing: MirrorStanding = BEHIND, *, running: bool = False, failures: int = 0, now: datetime = NOW
) -> Decision:
    failed = Failures(failures, NOW - timedelta(seconds=10))
    return decide_mirror(standing, target_lag=TARGET, running=running, failures=failed, now=now)


def test_a_mirror_that_has_every_change_is_left_alone() -> None:
    assert due(replace(BEHIND, waiting=0)) == Decision(None, "every change is in the mirror", "")
    assert due(MirrorStanding("mirror.flights")) == Decision(None, "the changelog is empty", "")


def test_young_changes_wait_for_company_and_never_as_long_as_the_target() -> None:
    young = replace(BEHIND, since=NOW - timedelta(seconds=1))
    waiting = due(young)
    assert waiting.run_key is None
    assert waiting.reason == "3 changes wait, none for longer than 75 s"
    assert due(young, now=NOW + TARGET * SHARE).run_key is not None
    ahead = replace(young, since=NOW + TARGET)  # by the clock of another machine
    at_once = decide_mirror(ahead, target_lag=timedelta(0), running=False, failures=Failures(), now=NOW)
    assert at_once.run_key is not None, "a person who waits has no patience"


def test_many_changes_an_initial_table_or_a_doubt_do_not_wait() -> None:
    young = replace(BEHIND, since=NOW)
    assert due(replace(young, waiting=MANY)).run_key is not None
    assert due(replace(young, waiting=0, to_begin=True)).run_key is not None
    doubtful = due(replace(young, waiting=0, doubt="changelog.flights is another table"))
    assert doubtful.run_key is not None
    assert doubtful.reason == "changelog.flights is another table"


def test_a_mirror_has_one_run_at_a_time() -> None:
    assert due(running=True).run_key is None


def test_a_run_is_named_by_both_snapshots() -> None:
    key = due().run_key
    assert key is not None
    assert key.startswith("mirror.flights:7:11:")
    assert due(now=NOW + timedelta(seconds=5)).run_key == key
    assert due(replace(BEHIND, newest=12)).run_key != key
    assert due(replace(BEHIND, snapshot_id=8)).run_key != key
    assert due(now=NOW + RETRY_AFTER).run_key != key, "after a rollback by hand the pair comes again"


def test_after_a_failure_the_mirror_waits_longer_each_time_whatever_arrives() -> None:
    failed = due(replace(BEHIND, newest=12, waiting=MANY), failures=1)
    assert failed.run_key is None
    assert failed.reason == "100,000 changes wait; the last run failed, the next try is at 12:00:50 UTC"
    assert due(failures=1, now=NOW + FIRST_PAUSE).run_key is not None
    assert due(failures=3, now=NOW + FIRST_PAUSE * 3).run_key is None
    assert due(failures=3, now=NOW + FIRST_PAUSE * 4).run_key is not None
    assert [pause(n) for n in (1, 2, 3)] == [FIRST_PAUSE, FIRST_PAUSE * 2, FIRST_PAUSE * 4]
    assert pause(1000) == LONGEST_PAUSE, "it stays visible"


def test_a_try_after_a_failure_is_a_run_of_its_own() -> None:
    later = NOW + timedelta(minutes=2)
    assert due(now=later).run_key != due(failures=1, now=later).run_key
