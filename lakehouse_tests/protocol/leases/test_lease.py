"""A lease keeps readable what its owner has still to read: the chain from its snapshot to the head of `main`.

Guarded mechanisms: what trimming spares, and that a lease moves in the publish of its owner, wherever the table that it
is on has gone meanwhile.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlparse

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table

from lakehouse.declarations import Maintenance
from lakehouse.protocol.catalog import TableChange, remove_ref, set_tag
from lakehouse.protocol.commit import publish
from lakehouse.protocol.commit.trim import KEEP_PROPERTY, outdated_snapshots
from lakehouse.protocol.errors import Superseded
from lakehouse.protocol.leases.lease import (
    LEASE_PREFIX,
    Lease,
    held_leases,
    lease_tag,
    lease_until,
    leases,
    release_lease,
    take_lease,
)
from lakehouse.protocol.leases.terms import LEASE_PROPERTY, given_up
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.history import ancestry, head_of
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.lost_answers import lose_one_answer
from lakehouse_tests.protocol.commit.oracle import Oracle
from lakehouse_tests.protocol.commit.test_trim import EVENTS, History

OWNER = "mirror.things"


def _lease(lake: Lake, table: str, snapshot_id: int | None = None, owner: str = OWNER) -> Lease:
    loaded = lake.load(f"{lake.namespace}.{table}")
    target = snapshot_id or head_of(loaded)
    assert target
    return Lease(loaded.name(), str(loaded.metadata.table_uuid), owner, target)


def _held_log(lake: Lake) -> tuple[str, Lease]:
    """A table of which few snapshots are kept, and a lease on its first rows."""
    lake.create("log", **{KEEP_PROPERTY: "3"})
    lake.write("first", log=[0])
    lease = _lease(lake, "log")
    assert take_lease(lake.catalog, lease)
    return f"{lake.namespace}.log", lease


def _chain(table: Table) -> list[int]:
    return [snapshot.snapshot_id for snapshot in ancestry(table, head_of(table))]


@settings(max_examples=200)
@given(EVENTS, st.integers(1, 6), st.lists(st.integers(0, 30), max_size=3))
def test_everything_newer_than_the_oldest_lease_stays(
    events: list[tuple[str, int]], keep: int, back: list[int]
) -> None:
    history = History()
    for what, far in events:
        history.happen(what, far)
    line = history.line(history.main)
    tags = {f"{lease_tag(str(n))}": line[min(far, len(line) - 1)] for n, far in enumerate(back) if line}
    history.refs |= {name: ("tag", snapshot_id) for name, snapshot_id in tags.items()}
    head = history.commit(history.commit(history.main))
    dropped = set(outdated_snapshots(history.table(keep), head))
    new_main = history.line(head)
    oldest = max((new_main.index(snapshot_id) for snapshot_id in tags.values()), default=-1)
    assert not dropped & set(new_main[: oldest + 1])
    assert not dropped & set(new_main[: max(2, keep)])
    if all(name.startswith(LEASE_PREFIX) for name in history.refs):
        assert len(new_main) - len(dropped) <= max(2, keep, oldest + 1) + 2  # and no more than that


def test_a_lagging_reader_finds_its_whole_range_after_many_publishes(lake: Lake) -> None:
    name, lease = _held_log(lake)
    for number in range(1, 9):
        lake.write(f"s{number}", log=[number])
    chain = _chain(lake.load(name))
    assert chain[-2:].count(lease.snapshot_id) == 1
    assert chain.index(lease.snapshot_id) == 16  # eight publishes, of rows and a seal each
    assert Oracle.of(lake).refs("log") == {"main", lease_tag(OWNER)}
    # It moves on, and the next publish takes what nobody needs any more.
    assert take_lease(lake.catalog, _lease(lake, "log"))
    lake.write("last", log=[9])
    assert len(_chain(lake.load(name))) <= 5
    assert lake.rows(name) == list(range(10))


def test_a_lease_whose_tag_was_dropped_by_hand_holds_until_it_is_released(lake: Lake) -> None:
    name, lease = _held_log(lake)
    lake.catalog.commit_tables([TableChange(lease.identifier, (), (remove_ref(lease.tag),))])
    for number in range(1, 6):
        lake.write(f"s{number}", log=[number])
    assert lease.snapshot_id in _chain(lake.load(name))
    assert held_leases(lake.load(name)) == (lease,)
    assert release_lease(lake.catalog, lease.identifier, OWNER)
    assert held_leases(lake.load(name)) == ()
    lake.write("last", log=[9])
    assert len(_chain(lake.load(name))) <= 5


@pytest.mark.parametrize(
    ("owner", "other"), [("mart.b_c", "mart_b.c"), ("mart.größe", "mart.größé"), ("売.上", "顧.客")]
)
def test_owners_with_similar_names_have_leases_of_their_own(lake: Lake, owner: str, other: str) -> None:
    lake.create("log")
    lake.write("first", log=[0])
    first = _lease(lake, "log", owner=owner)
    lake.write("second", log=[1])
    second = _lease(lake, "log", owner=other)
    assert take_lease(lake.catalog, first)
    assert take_lease(lake.catalog, second)
    assert set(held_leases(lake.load(f"{lake.namespace}.log"))) == {first, second}
    assert release_lease(lake.catalog, second.identifier, other)
    assert held_leases(lake.load(f"{lake.namespace}.log")) == (first,)


def test_a_tag_of_before_is_a_lease_and_gives_way_to_the_one_of_now(lake: Lake) -> None:
    lake.create("log")
    lake.write("first", log=[0])
    lease, former = _lease(lake, "log"), "lakehouse_lease_mirror_things"
    name = f"{lake.namespace}.log"
    lake.catalog.commit_tables([TableChange(lease.identifier, (), (set_tag(former, lease.snapshot_id),))])
    assert [entry.snapshot_id for entry in held_leases(lake.load(name))] == [lease.snapshot_id]
    properties = {LEASE_PROPERTY + OWNER: f'{{"owner":"{OWNER}"}}'}
    with lake.load(name).transaction() as change:
        change.set_properties(properties)
    assert [entry.owner for entry in held_leases(lake.load(name))] == [OWNER]
    assert take_lease(lake.catalog, replace(lease, owner="mirror_things"))  # no right to what is another's
    assert former in lake.load(name).metadata.refs
    assert take_lease(lake.catalog, lease)
    assert leases(lake.load(name)) == {lease_tag(owner): lease.snapshot_id for owner in (OWNER, "mirror_things")}


def test_a_lease_moves_with_the_publish_of_its_owner(lake: Lake) -> None:
    lake.create("log")
    lake.create("copy")
    lake.write("first", log=[1])
    read = _lease(lake, "log")
    base = lake.bases(f"{lake.namespace}.copy")[f"{lake.namespace}.copy"]
    staged = lake.stage(base, Attempt(run_id="r", step="mirror"), [1])
    lake.write("meanwhile", log=[2])  # the table that was read moves on: no reason not to publish
    publish(lake.catalog, [staged], leases=[read])
    log = lake.load(f"{lake.namespace}.log")
    assert leases(log) == {lease_tag(OWNER): read.snapshot_id}
    assert head_of(log) != read.snapshot_id
    assert lake.rows(f"{lake.namespace}.copy") == [1]


def test_the_lease_of_a_superseded_run_does_not_move(lake: Lake) -> None:
    lake.create("log")
    lake.create("copy")
    lake.write("first", log=[1])
    old = _lease(lake, "log")
    assert take_lease(lake.catalog, old)
    lake.write("second", log=[2])
    base = lake.bases(f"{lake.namespace}.copy")[f"{lake.namespace}.copy"]
    staged = lake.stage(base, Attempt(run_id="slow", step="mirror"), [1])
    lake.write("twin", copy=[7])
    with pytest.raises(Superseded):
        publish(lake.catalog, [staged], leases=[_lease(lake, "log")])
    assert leases(lake.load(f"{lake.namespace}.log")) == {lease_tag(OWNER): old.snapshot_id}


@pytest.mark.parametrize("gone", ["dropped", "anew", "snapshot"])
def test_a_table_that_is_gone_is_no_reason_not_to_publish(lake: Lake, gone: str) -> None:
    for table in ("log", "copy"):
        lake.create(table)
    lake.write("first", log=[1])
    lease = _lease(lake, "log", snapshot_id=4711 if gone == "snapshot" else None)
    base = lake.bases(f"{lake.namespace}.copy")[f"{lake.namespace}.copy"]
    staged = lake.stage(base, Attempt(run_id="r", step="mirror"), [1])
    if gone != "snapshot":
        lake.catalog.drop_table((lake.namespace, "log"))
    if gone == "anew":
        lake.create("log")
    publish(lake.catalog, [staged], leases=[lease])
    assert lake.rows(f"{lake.namespace}.copy") == [1]
    assert gone == "dropped" or leases(lake.load(f"{lake.namespace}.log")) == {}
    assert not take_lease(lake.catalog, lease)


def test_a_lease_ends(lake: Lake) -> None:
    lake.create("log")
    lake.write("first", log=[1])
    lease = _lease(lake, "log")
    assert not release_lease(lake.catalog, lease.identifier, OWNER)
    assert take_lease(lake.catalog, lease)
    assert take_lease(lake.catalog, lease)  # again: it is there
    lake.write("second", log=[2])  # a lease keeps nobody from writing
    assert release_lease(lake.catalog, lease.identifier, OWNER)
    assert leases(lake.load(f"{lake.namespace}.log")) == {}


def test_a_table_is_not_leased_by_the_step_that_writes_it(lake: Lake) -> None:
    lake.create("log")
    lake.write("first", log=[1])
    base = lake.bases(f"{lake.namespace}.log")[f"{lake.namespace}.log"]
    staged = lake.stage(base, Attempt(run_id="r", step="s"), [2])
    with pytest.raises(ValueError, match="does not lease"):
        publish(lake.catalog, [staged], leases=[_lease(lake, "log")])


def test_taking_a_lease_goes_on_when_others_commit_first(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    sql_lake.create("log")
    sql_lake.write("first", log=[1])
    lease, commit, refusals = _lease(sql_lake, "log"), sql_lake.catalog.commit_tables, iter(range(2))

    def busy(changes: Sequence[TableChange]) -> None:
        if next(refusals, None) is not None:
            raise CommitFailedException("others came first")
        commit(changes)

    monkeypatch.setattr(sql_lake.catalog, "commit_tables", busy)
    assert take_lease(sql_lake.catalog, lease)


def test_until_when_and_why_come_and_go_with_the_tag(lake: Lake) -> None:
    """In one commit: no reader of any version of the metadata sees a lease without its terms, or terms without it."""
    lake.create("log")
    lake.write("first", log=[0])
    until = datetime(2031, 5, 1, 12, tzinfo=UTC)
    lease = replace(_lease(lake, "log"), until=until, reason="the auditors read")
    assert take_lease(lake.catalog, lease)
    assert held_leases(lake.load(f"{lake.namespace}.log")) == (lease,)
    later = replace(lease, until=until + timedelta(days=1))
    assert take_lease(lake.catalog, later)  # renewed where it is
    assert held_leases(lake.load(f"{lake.namespace}.log")) == (later,)
    versions = [entry.metadata_file for entry in lake.load(f"{lake.namespace}.log").metadata.metadata_log]
    assert release_lease(lake.catalog, lease.identifier, OWNER)
    after = lake.load(f"{lake.namespace}.log")
    assert not any(key.startswith(LEASE_PROPERTY) for key in after.properties)
    documents = [msgspec.json.decode(Path(urlparse(path).path).read_bytes()) for path in versions]
    assert len(documents) > 3
    for document in documents:
        assert (lease.tag in document["refs"]) == (LEASE_PROPERTY + OWNER in document["properties"])


def test_a_lease_that_is_moved_without_an_end_has_none(lake: Lake) -> None:
    lake.create("log")
    lake.write("first", log=[0])
    lease = replace(_lease(lake, "log"), until=datetime(2031, 5, 1, tzinfo=UTC))
    other = replace(_lease(lake, "log", owner="mart.sums"), reason="of another")
    for taken in (lease, other, replace(lease, until=None)):
        assert take_lease(lake.catalog, taken)
    by_owner = {entry.owner: entry for entry in held_leases(lake.load(f"{lake.namespace}.log"))}
    assert {entry.tag: entry.until for entry in by_owner.values()} == {lease.tag: None, other.tag: None}
    assert by_owner["mart.sums"] == other


def test_what_is_given_up_is_remembered_until_the_owner_reads_again(lake: Lake) -> None:
    """Its lease is gone and its seal still says where it stands: only this tells that nobody has to wait for it."""
    lake.create("log")
    lake.write("first", log=[0])
    lease, name = _lease(lake, "log"), f"{lake.namespace}.log"
    assert take_lease(lake.catalog, lease)
    assert release_lease(lake.catalog, lease.identifier, OWNER, give_up=lease.snapshot_id)
    assert (leases(lake.load(name)), given_up(lake.load(name))) == ({}, {OWNER: lease.snapshot_id})
    assert take_lease(lake.catalog, lease)
    assert given_up(lake.load(name)) == {}
    assert held_leases(lake.load(name)) == (lease,)


@pytest.mark.parametrize("terms", ["{", f'{{"owner":"{OWNER}","until":"2031-05-01T00:00:00"}}'], ids=["cut", "no zone"])
def test_a_lease_whose_terms_cannot_be_read_has_no_end(lake: Lake, terms: str) -> None:
    lake.create("log")
    lake.write("first", log=[0])
    lease = replace(_lease(lake, "log"), until=datetime(2031, 5, 1, tzinfo=UTC))
    assert take_lease(lake.catalog, lease)
    with lake.load(f"{lake.namespace}.log").transaction() as change:
        change.set_properties({LEASE_PROPERTY + OWNER: terms})
    (stored,) = held_leases(lake.load(f"{lake.namespace}.log"))
    assert (stored.owner, stored.until) == (OWNER, None)
    assert take_lease(lake.catalog, lease)
    assert held_leases(lake.load(f"{lake.namespace}.log")) == (lease,)


def test_how_long_a_hold_lasts_is_a_tables_policy() -> None:
    now, week = datetime.now(UTC), timedelta(days=7)
    until = lease_until(Maintenance())
    assert until is not None
    assert now + week <= until <= now + week + timedelta(minutes=1)
    assert lease_until(Maintenance(expire=None)) is None


@pytest.mark.parametrize("landed", [True, False])
@pytest.mark.parametrize("give_up", [False, True])
def test_a_lease_ends_also_where_the_answer_is_lost(
    sql_lake: Lake, monkeypatch: pytest.MonkeyPatch, *, landed: bool, give_up: bool
) -> None:
    sql_lake.create("log")
    sql_lake.write("first", log=[1])
    lease = _lease(sql_lake, "log")
    assert take_lease(sql_lake.catalog, lease)
    lose_one_answer(sql_lake.catalog, monkeypatch, landed=landed)
    read = lease.snapshot_id if give_up else None
    assert release_lease(sql_lake.catalog, lease.identifier, OWNER, seen=lease, give_up=read)
    after = sql_lake.load(f"{sql_lake.namespace}.log")
    assert (held_leases(after), given_up(after)) == ((), {OWNER: read} if give_up else {})


def test_a_lease_that_is_renewed_while_it_is_ended_stays(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    sql_lake.create("log")
    sql_lake.write("first", log=[1])
    lease = _lease(sql_lake, "log")
    assert take_lease(sql_lake.catalog, lease)
    renewed = replace(lease, until=datetime.now(UTC) + timedelta(days=1))
    lose_one_answer(
        sql_lake.catalog, monkeypatch, landed=False, meanwhile=lambda: take_lease(sql_lake.catalog, renewed)
    )
    with pytest.raises(CommitFailedException, match="has moved or renewed its lease meanwhile"):
        release_lease(sql_lake.catalog, lease.identifier, OWNER)
    assert held_leases(sql_lake.load(f"{sql_lake.namespace}.log")) == (renewed,)
