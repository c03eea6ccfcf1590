"""Which snapshots a run applies, and every reason not to: decided from metadata, without Spark."""

from dataclasses import replace
from typing import Any

import pytest
from pyiceberg.table import Table

from lakehouse import seal_keys
from lakehouse.declarations import Mirror, MirrorTables, apply, plan
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.tally import Tally
from lakehouse.engines.kafka.topics import PartitionRange, TopicState
from lakehouse.proofs.audit.retirement import KIND_RETIRE
from lakehouse.protocol.catalog import TableChange, remove_snapshots
from lakehouse.protocol.commit import open_branch, publish, seal_branch
from lakehouse.protocol.commit.rebase import added_files
from lakehouse.protocol.commit.stage import commit_on_branch
from lakehouse.protocol.leases.lease import lease_tag, leases
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.history import ancestry, head_of
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.cdc.plan.range import Range, chain, next_range, whole_range
from lakehouse.steps.cdc.plan.reread_range import applied_range, require_complete
from lakehouse.steps.cdc.plan.schema_evolution import declared_columns
from lakehouse.steps.cdc.refusals import (
    ChangelogReplaced,
    ChangelogRolledBack,
    ChangelogUnsealed,
    ChangesRetired,
    ForeignChange,
    HistoryIncomplete,
    OtherChangelog,
    RangeExpired,
)
from lakehouse.steps.cdc.replay.piecewise import offsets_between
from lakehouse.steps.cdc.statement import MirrorStatement
from lakehouse.steps.cdc.step import MirrorStep, mirror, plan_work
from lakehouse.steps.ingest.repair.loss import plan_loss
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.cdc.conftest import Change, Feed, changelog_of, upsert

pytestmark = pytest.mark.slow

NAME = "mirror.things"
LOG = "changelog.things"


@pytest.fixture
def feed(sql_lake: Lake) -> Feed:
    log = changelog_of()
    apply(plan(log.table, sql_lake.catalog), sql_lake.catalog)
    return Feed(sql_lake.catalog, log)


def _changes(number: int) -> list[Change]:
    return [upsert(n, n) for n in range(number)]


def _log(feed: Feed) -> Table:
    return feed.catalog.load_table(tuple(LOG.split(".")))


def _statement(feed: Feed, end: int, **more: Any) -> MirrorStatement:
    uuid = str(_log(feed).metadata.table_uuid)
    return MirrorStatement(
        **{"changelog": LOG, "changelog_uuid": uuid, "build": "b", "start": None, "end": end, **more}
    )


def _next(feed: Feed, end: int, max_changes: int = 100) -> Range | None:
    return next_range(NAME, _statement(feed, end), _log(feed), max_changes=max_changes)


def _rollback(feed: Feed, snapshot_id: int) -> None:
    _log(feed).manage_snapshots().rollback_to_snapshot(snapshot_id).commit()


def test_up_to_the_newest_seal(feed: Feed) -> None:
    first, _, last = feed.append(_changes(2)), feed.append(_changes(3)), feed.append(_changes(4))
    change_range = _next(feed, first)
    assert change_range is not None
    assert (change_range.start, change_range.end, change_range.changes, change_range.behind) == (first, last, 7, 0)
    assert change_range.arrived.end == {0: 9}
    assert _next(feed, last) is None


def test_no_more_rows_than_a_run_may_take_but_one_seals_worth(feed: Feed) -> None:
    ends = [feed.append(_changes(3)) for _ in range(4)]
    for limit, end, behind in ((6, ends[2], 3), (8, ends[2], 3), (5, ends[1], 6), (1, ends[1], 6), (9, ends[3], 0)):
        change_range = _next(feed, ends[0], limit)
        assert change_range is not None
        assert (limit, change_range.end, change_range.behind) == (limit, end, behind)


def test_runs_without_rows_are_no_reason_to_run_until_they_are_many(feed: Feed) -> None:
    first = feed.append(_changes(1))
    for _ in range(19):
        feed.append()
    assert _next(feed, first) is None
    last = feed.append()
    change_range = _next(feed, first)
    assert change_range is not None
    assert (change_range.end, change_range.changes) == (last, 0)


def test_a_large_run_after_an_empty_one_is_not_put_off_for_ever(feed: Feed) -> None:
    first = feed.append(_changes(1))
    feed.append()
    last = feed.append(_changes(9))
    change_range = _next(feed, first, 5)
    assert change_range is not None
    assert (change_range.end, change_range.changes) == (last, 9)


def test_rows_that_no_seal_covers_wait(feed: Feed) -> None:
    first = feed.append(_changes(1))
    base = read_bases(feed.catalog, [LOG])[LOG]
    files = added_files(_log(feed), next(s for s in ancestry(_log(feed), first) if s.snapshot_id != first))
    with _log(feed).transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        append.append_data_file(files[0])
    assert base.snapshot_id == first
    assert _next(feed, first) is None
    assert feed.append() != first
    change_range = _next(feed, first)
    assert change_range is not None
    assert change_range.changes == 1


def test_a_changelog_that_was_created_anew(feed: Feed) -> None:
    end = feed.append(_changes(1))
    previous = _statement(feed, end)
    feed.catalog.drop_table(tuple(LOG.split(".")))
    apply(plan(feed.log.table, feed.catalog), feed.catalog)
    with pytest.raises(ChangelogReplaced, match=r"lakehouse rebuild mirror.things"):
        next_range(NAME, previous, _log(feed), max_changes=1)
    with pytest.raises(OtherChangelog):
        next_range(NAME, replace(previous, changelog="changelog.others"), _log(feed), max_changes=1)


def test_a_changelog_that_was_rolled_back(feed: Feed) -> None:
    first, second = feed.append(_changes(1)), feed.append(_changes(1))
    _rollback(feed, first)
    with pytest.raises(ChangelogRolledBack, match=rf"stands at snapshot {second} .*now at {first}\)"):
        _next(feed, second)
    feed.append(_changes(1))
    with pytest.raises(ChangelogRolledBack):
        _next(feed, second)


def test_a_rollback_is_told_from_expiry_where_old_snapshots_are_gone(feed: Feed) -> None:
    first, second = feed.append(_changes(1)), feed.append(_changes(1))
    _log(feed).manage_snapshots().create_tag(second, "lease").commit()
    _expire(feed, 0, 1)
    _rollback(feed, first)
    with pytest.raises(ChangelogRolledBack):
        _next(feed, second)


def test_a_changelog_that_lost_all_snapshots(feed: Feed) -> None:
    with pytest.raises(ChangelogRolledBack):
        next_range(NAME, _statement(feed, 4711), _log(feed), max_changes=1)


def _expire(feed: Feed, *places: int) -> None:
    """Remove snapshots of `main` by their place, oldest first."""
    history = [s.snapshot_id for s in ancestry(_log(feed), head_of(_log(feed)))][::-1]
    gone = remove_snapshots([history[place] for place in places])
    feed.catalog.commit_tables([TableChange(_log(feed).name(), (), (gone,))])


def test_a_range_of_which_snapshots_expired(feed: Feed) -> None:
    first = feed.append(_changes(1))
    for _ in range(3):
        feed.append(_changes(1))
    _log(feed).manage_snapshots().create_tag(first, "kept").commit()
    _expire(feed, 3, 4)  # a tag saves its own snapshot, and nothing after it
    with pytest.raises(RangeExpired, match="changes in between may be missed"):
        _next(feed, first)


def test_the_snapshot_at_which_a_range_begins_may_have_expired_itself(feed: Feed) -> None:
    first, second = feed.append(_changes(1)), feed.append(_changes(2))
    _expire(feed, 0, 1, 2)
    change_range = _next(feed, first)
    assert change_range is not None
    assert (change_range.end, change_range.changes) == (second, 2)


def test_a_commit_that_removed_rows(feed: Feed) -> None:
    first = feed.append(_changes(3))
    feed.append(_changes(1))
    _log(feed).delete("_kafka_offset = 0")
    last = feed.append(_changes(1))
    with pytest.raises(ForeignChange, match="it removed rows"):
        _next(feed, first)
    assert _next(feed, last) is None  # before the range it is nobody's concern


def _retire(feed: Feed, before: int) -> int:
    """Remove the changes before an offset, as retention does."""
    base = read_bases(feed.catalog, [LOG])[LOG]
    assert base.sealed
    attempt = Attempt(run_id="r", step="retire:things")
    open_branch(feed.catalog, base, attempt)
    gone = offsets_between(None, {0: before})
    commit_on_branch(
        feed.catalog,
        base,
        attempt.branch,
        lambda transaction: transaction.delete(gone, snapshot_properties=attempt.marks, branch=attempt.branch),
    )
    statement = KafkaStatement.from_keys(base.sealed.seal.statement)
    assert statement
    retiring = replace(statement, start=statement.end, tallies={}, retired={LOG: {0: Tally(before, 0, 0)}})
    keys = {**retiring.to_keys(), seal_keys.RETIRE_BEFORE: f'{{"0":{before}}}'}
    seal = Seal.of(attempt, KIND_RETIRE, statement=keys, previous=base.sealed.seal)
    return publish(feed.catalog, [seal_branch(feed.catalog, base, attempt, seal)]).snapshots[LOG]


def test_retention_of_what_is_in_the_mirror_is_no_loss(feed: Feed) -> None:
    first = feed.append(_changes(3))
    feed.append(_changes(2))
    retired = _retire(feed, 2)
    consumed = _statement(feed, first, kafka_end={0: 3})
    change_range = next_range(NAME, consumed, _log(feed), max_changes=9)
    assert change_range is not None
    assert (change_range.end, change_range.changes) == (retired, 2)  # the row that was written anew is none of them
    with pytest.raises(ChangesRetired) as refused:
        next_range(NAME, replace(consumed, kafka_end={0: 1}), _log(feed), max_changes=9)
    assert str(refused.value.remedy).startswith("roll all three tables of the mirror forward")
    whole = whole_range(NAME, _log(feed))
    assert whole is not None
    with pytest.raises(HistoryIncomplete, match="its retention removed 2 changes"):
        require_complete(NAME, whole)


def test_the_whole_changelog(feed: Feed) -> None:
    assert whole_range(NAME, _log(feed)) is None
    feed.append()
    empty = whole_range(NAME, _log(feed), max_changes=1)
    assert empty is not None
    assert empty.changes == 0
    ends = [feed.append(_changes(3)) for _ in range(3)]
    for limit, place, behind in ((None, 2, 0), (9, 2, 0), (8, 1, 3), (2, 0, 6)):
        change_range = whole_range(NAME, _log(feed), max_changes=limit)
        assert change_range is not None
        assert (limit, change_range.start, change_range.end, change_range.behind) == (limit, None, ends[place], behind)
        require_complete(NAME, change_range)


def test_a_changelog_without_a_seal(feed: Feed) -> None:
    feed.append(_changes(1))
    table = _log(feed)
    _, rows, *_ = ancestry(table, head_of(table))
    _rollback(feed, rows.snapshot_id)
    with pytest.raises(ChangelogUnsealed):
        whole_range(NAME, _log(feed))


def test_a_changelog_whose_stream_began_with_another_topic_is_whole(feed: Feed) -> None:
    """And is not where rows were adopted before, of which nobody knows what they are."""
    for _ in range(3):
        feed.append(_changes(3))
        feed.begin_anew()
    whole = whole_range(NAME, _log(feed))
    assert whole is not None
    assert (whole.changes, whole.arrived.origin, whole.arrived.logs) == (9, {}, 4)
    require_complete(NAME, whole)
    adopted = replace(whole.arrived, logs=1)
    topic = TopicState("things", "cluster", "another", {0: PartitionRange(0, 3)})
    assert not plan_loss("things", adopted, topic, new_epoch=True).statement.is_from_beginning


def test_a_changelog_that_does_not_hold_everything(feed: Feed) -> None:
    feed.append(_changes(3))
    whole = whole_range(NAME, _log(feed))
    assert whole is not None
    with pytest.raises(HistoryIncomplete, match="do not say where it begins"):
        require_complete(NAME, replace(whole, arrived=replace(whole.arrived, origin={})))
    with pytest.raises(HistoryIncomplete, match="holds 2 rows, and its seals account for 3"):
        require_complete(NAME, replace(whole, changes=2))
    _log(feed).delete("_kafka_offset = 0")
    feed.append(_changes(1))
    shortened = whole_range(NAME, _log(feed))
    assert shortened is not None
    with pytest.raises(HistoryIncomplete, match="removed rows"):
        require_complete(NAME, shortened)


def test_an_applied_range_again(feed: Feed) -> None:
    first, second = feed.append(_changes(1)), feed.append(_changes(2))
    feed.append(_changes(3))
    assert applied_range(NAME, _log(feed), _statement(feed, second, start=first)).changes == 2
    assert applied_range(NAME, _log(feed), _statement(feed, second)).changes == 3
    with pytest.raises(RangeExpired):
        applied_range(NAME, _log(feed), _statement(feed, 4711))
    assert [s.snapshot_id for s in chain(NAME, _log(feed), first, second, consumed={})][-1] == second


def _mirror(feed: Feed, **declared: Any) -> MirrorTables:
    tables = MirrorTables(Mirror(name=NAME, changelog=feed.log, **declared), feed.log)
    for table in tables.tables:
        apply(plan(table, feed.catalog), feed.catalog)
    return tables


def _no_spark() -> Any:
    raise AssertionError("nothing is read to make a plan")


def test_a_lease_is_there_before_anything_is_read(feed: Feed) -> None:
    """The changelog's runs go on while the first range is read, and would trim what comes after it."""
    tables = _mirror(feed)
    step = MirrorStep(tables, feed.catalog, _no_spark, Attempt(run_id="r", step="mirror"))
    assert plan_work(step).change_range is None
    assert leases(_log(feed)) == {}
    end = feed.append(_changes(2))
    change_range = plan_work(step).change_range
    assert change_range is not None
    assert (change_range.end, leases(_log(feed))) == (end, {lease_tag(NAME): end})
    feed.append(_changes(2))
    assert plan_work(step).change_range != change_range
    assert leases(_log(feed)) == {lease_tag(NAME): end}  # it moves with a publish only


def test_a_changelog_that_only_moved_on_is_followed_without_spark(feed: Feed) -> None:
    tables, first = _mirror(feed), feed.append(_changes(1))
    bases = read_bases(feed.catalog, [table.name for table in tables.tables])
    attempt = Attempt(run_id="first", step="mirror")
    keys = _statement(feed, first, progress={0: 7}, behind=("name",), columns=declared_columns(feed.log)).to_keys()
    seal = Seal.of(attempt, "mirror", statement=keys, previous=None)
    publish(feed.catalog, [seal_branch(feed.catalog, base, attempt, seal) for base in bases.values()])
    step = MirrorStep(tables, feed.catalog, _no_spark, Attempt(run_id="next", step="mirror"))
    assert mirror(step).published is None
    for _ in range(20):
        last = feed.append()
    report = mirror(step)
    assert report.statement
    assert (report.kind, report.statement.start, report.statement.end) == ("mirror", first, last)
    assert (report.statement.behind, report.statement.progress) == (("name",), {0: 7})
    assert leases(_log(feed)) == {lease_tag(NAME): last}
