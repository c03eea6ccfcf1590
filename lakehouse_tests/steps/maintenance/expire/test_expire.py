"""Expiry lets go what nobody needs, says who needs the rest, and deletes exactly the files that only the gone reached.

Guarded mechanisms: the cut (see `test_cut`), the requirement that every reference is where it was seen, deletion of
what the removed snapshots reached and no other does, and that everybody can plan their next range afterwards.
"""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlparse

import pytest

from lakehouse.declarations import Declarations, Expire, Maintenance
from lakehouse.protocol.catalog import TableChange, set_tag
from lakehouse.protocol.commit import open_branch, publish
from lakehouse.protocol.failpoints import InjectedFault
from lakehouse.protocol.leases.lease import Lease, release_lease, take_lease
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.history import ancestry, head_of
from lakehouse.steps.maintenance.expire import expire as expiry
from lakehouse.steps.maintenance.expire.consumers import can_plan, consumers_of
from lakehouse.steps.maintenance.expire.expire import CannotExpire, RewriteInFlight, TagLost, expire, look, run
from lakehouse.steps.maintenance.expire.holds import holders_of
from lakehouse.steps.maintenance.model.action import Action, Operation
from lakehouse_tests.fixtures.lakes import SCHEMA, Lake
from lakehouse_tests.protocol.commit.test_unusual_tables import maintain
from lakehouse_tests.steps.maintenance.house import COPY, GROUP, LOG, MIRROR, House, days_ahead, keep_on_main, work_on

pytestmark = pytest.mark.slow

SMALL = Expire(min_snapshots_to_keep=2, max_snapshots=2, at_least=1)
NOBODY = Declarations({}, {}, {})
ACTION = Action(operation=Operation.EXPIRE)


@pytest.fixture
def house(sql_lake: Lake) -> House:
    return House.of(sql_lake)


def _on_disk(house: House) -> set[str]:
    folder = Path(urlparse(house.log.location()).path)
    return {path.as_uri() for path in folder.rglob("*") if path.is_file() and not path.name.endswith(".json")}


def _reachable(house: House) -> set[str]:
    """By plain PyIceberg, from every snapshot that is left."""
    table, paths = house.log, set[str]()
    for snapshot in table.metadata.snapshots:
        paths.add(snapshot.manifest_list)
        for manifest in snapshot.manifests(table.io):
            paths.add(manifest.manifest_path)
            paths |= {entry.data_file.file_path for entry in manifest.fetch_manifest_entry(table.io)}
    return paths


def test_what_is_old_goes_with_its_files_and_nothing_else(house: House) -> None:
    house.grow(6, rows=2)
    house.log.delete("_kafka_offset < 6")
    house.feed.append([])
    before = house.log.scan().to_arrow().num_rows
    done = expire(house.catalog, NOBODY, LOG, SMALL)
    assert len(done.selection.expired) == 13
    assert done.files == 3
    assert len(house.line) == done.after == 2
    assert house.log.scan().to_arrow().num_rows == before == 6
    assert _on_disk(house) == _reachable(house)
    again = expire(house.catalog, NOBODY, LOG, SMALL)
    assert (again.selection.snapshot_ids, again.files) == ((), 0)
    house.grow(1)
    assert house.log.scan().to_arrow().num_rows == 7


def test_a_lagging_mirror_blocks_by_name_and_its_release_frees(house: House) -> None:
    first, *_ = house.grow(8)
    house.mirror(first, until=days_ahead(1))
    done = expire(house.catalog, house.declarations, LOG, SMALL)
    assert len(done.selection.expired) == 2  # what is below its seal
    assert [(holder.kind, holder.owner, count) for holder, count in done.selection.blocked.items()] == [
        ("mirror", MIRROR, 13)
    ]
    assert f"mirror {MIRROR} holds 13 until" in str(done)
    assert "lakehouse lease release changelog.things mirror.things" in str(done)
    assert can_plan(house.catalog, house.declarations, LOG) == ()
    assert release_lease(house.catalog, ("changelog", "things"), MIRROR, give_up=first)
    freed = expire(house.catalog, house.declarations, LOG, SMALL)
    assert (len(freed.selection.expired), freed.selection.blocked) == (13, {})
    assert len(house.line) == 2
    # Whoever gave it up is told so, and so is everybody else: the mirror has to be rebuilt.
    assert [(holder.kind, holder.name) for holder in freed.cut_off] == [("mirror", MIRROR)]
    assert freed.broken == ()
    assert f"mirror {MIRROR} cannot read on" in str(freed)
    assert f"lakehouse rebuild {MIRROR} --yes" in str(freed)


def test_it_is_only_shown_until_it_is_allowed(house: House) -> None:
    first, *_ = house.grow(4)
    house.mirror(first)
    policy = Maintenance(expire=SMALL)
    shown = run(work_on(house.catalog, house.declarations, LOG, policy, allow=False), ACTION)
    assert shown.result == "dry_run"
    assert f"2 snapshots would go; mirror {MIRROR} holds 5" in shown.message
    assert len(house.line) == 9
    done = run(work_on(house.catalog, house.declarations, LOG, policy), ACTION)
    assert (done.result, done.effect.snapshots, done.before.snapshots) == ("done", 2, 9)
    assert done.after is not None
    assert (done.after.snapshots, len(house.line)) == (7, 7)
    never = work_on(house.catalog, house.declarations, LOG, Maintenance(expire=None))
    assert run(never, ACTION).result == "nothing"


def test_an_expiry_that_cuts_somebody_off_has_failed(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """It cannot be: so whatever makes it happen is found at once, and by name."""
    first, *_ = house.grow(4)
    house.mirror(first, leased=False)
    monkeypatch.setattr(expiry, "holders_of", lambda *_, **__: ())
    done = run(work_on(house.catalog, house.declarations, LOG, Maintenance(expire=SMALL)), ACTION)
    assert done.result == "failed"
    assert f"mirror {MIRROR} cannot read on" in done.message


@pytest.mark.parametrize("consumer", [MIRROR, COPY])
def test_a_consumer_whose_lease_somebody_dropped_holds_by_its_seal(house: House, consumer: str) -> None:
    seals = house.grow(6)
    go_on = house.mirror if consumer == MIRROR else house.copy
    go_on(seals[2], leased=False)
    done = expire(house.catalog, house.declarations, LOG, SMALL)
    ((holder, count),) = done.selection.blocked.items()
    assert (holder.owner, holder.until, count) == (consumer, None, 5)
    assert seals[2] in house.line
    assert done.cut_off == can_plan(house.catalog, house.declarations, LOG) == ()
    go_on(house.head)
    moved_on = expire(house.catalog, house.declarations, LOG, SMALL)
    assert (len(moved_on.selection.expired), len(house.line)) == (5, 2)
    assert can_plan(house.catalog, house.declarations, LOG) == ()


def test_a_release_keeps_what_was_released_and_no_more(house: House) -> None:
    house.grow(2)
    released = house.release()
    head = house.head
    house.grow(4)
    done = expire(house.catalog, house.declarations, LOG, SMALL)
    assert [(holder.kind, holder.owner, count) for holder, count in done.selection.blocked.items()] == [
        ("release", released, 1),
        ("release", f"{GROUP}-current", 1),
    ]
    assert {s.snapshot_id for s in house.log.metadata.snapshots} == {*house.line[:2], head}
    assert house.log.scan(snapshot_id=head).to_arrow().num_rows == 2
    assert can_plan(house.catalog, house.declarations, LOG) == ()
    house.log.manage_snapshots().remove_tag(f"release-{released}").commit()
    house.log.manage_snapshots().remove_tag(f"release-{GROUP}-current").commit()
    (lost,) = can_plan(house.catalog, house.declarations, LOG)
    assert (lost.kind, lost.name) == ("release", released)
    assert GROUP in lost.name
    expire(house.catalog, house.declarations, LOG, SMALL, now=days_ahead(2))
    assert head not in {s.snapshot_id for s in house.log.metadata.snapshots}


def test_a_range_that_was_lost_is_found(house: House) -> None:
    """The check that follows on every expiry, asked where something else has let go what was needed."""
    seals = house.grow(5)
    house.mirror(seals[0], leased=False)
    house.copy(seals[3], leased=False)
    assert can_plan(house.catalog, house.declarations, LOG) == ()
    assert {(c.kind, c.name, c.read) for c in consumers_of(house.catalog, house.declarations, LOG)} == {
        ("mirror", MIRROR, seals[0]),
        ("incremental", COPY, seals[3]),
    }
    expire(house.catalog, NOBODY, LOG, Expire(min_snapshots_to_keep=4, max_snapshots=4))
    (lost,) = can_plan(house.catalog, house.declarations, LOG)
    assert (lost.kind, lost.name) == ("mirror", MIRROR)
    assert "lakehouse rebuild" in lost.remedy
    expire(house.catalog, NOBODY, LOG, SMALL)
    assert [(finding.kind, finding.name) for finding in can_plan(house.catalog, house.declarations, LOG)] == [
        ("mirror", MIRROR),
        ("incremental", COPY),
    ]


def test_the_age_counts_as_well_as_the_number(house: House) -> None:
    house.grow(5)
    policy = Expire(min_snapshots_to_keep=3, max_snapshots=50, max_snapshot_age=timedelta(days=5))
    assert expire(house.catalog, NOBODY, LOG, policy).selection.snapshot_ids == ()
    done = expire(house.catalog, NOBODY, LOG, policy, now=datetime.now(UTC) + timedelta(days=6))
    assert len(done.selection.expired) == 8
    assert len(house.line) == 3


def test_what_is_set_on_main_itself_keeps_more_than_the_policy(house: House) -> None:
    """By SQL, as Iceberg means it: so many snapshots, and those of so long. The policy does not take from it."""
    house.grow(5)
    keep_on_main(house, min_snapshots_to_keep=6)
    done = expire(house.catalog, NOBODY, LOG, SMALL)
    assert (len(done.selection.expired), len(house.line)) == (5, 6)
    ((holder, count),) = done.selection.blocked.items()
    assert (holder.kind, holder.owner, count) == ("branch", "main", 4)
    assert holder.reason == "its own retention keeps 6 snapshots"
    assert f"branch main holds 4 (ALTER TABLE {LOG} REPLACE BRANCH `main` WITH SNAPSHOT RETENTION" in str(done)
    keep_on_main(house, min_snapshots_to_keep=1, max_snapshot_age_ms=7 * 86_400_000)
    house.grow(2)
    assert expire(house.catalog, NOBODY, LOG, SMALL, now=days_ahead(6)).selection.snapshot_ids == ()
    assert len(expire(house.catalog, NOBODY, LOG, SMALL, now=days_ahead(8)).selection.expired) == 8
    keep_on_main(house, min_snapshots_to_keep=1, max_snapshot_age_ms=1)
    assert expire(house.catalog, NOBODY, LOG, Expire()).selection.snapshot_ids == ()  # nor does it take from the policy


def test_a_table_of_version_3_loses_what_is_old_and_nothing_else(house: House) -> None:
    """One that Spark has written anew; with delete vectors and row ids: `test_expire_version_3`."""
    house.grow(6, rows=2)
    house.log.delete("_kafka_offset < 6")
    house.feed.append([])
    path = Path(urlparse(house.log.metadata_location).path)
    document = json.loads(path.read_text()) | {"format-version": 3, "next-row-id": 6}
    document["snapshots"][-1] |= {"first-row-id": 0, "added-rows": 6}
    path.write_text(json.dumps(document))
    assert house.log.format_version == 3
    lease = Lease(house.log.name(), str(house.log.metadata.table_uuid), "year-end", house.head, days_ahead(7))
    assert take_lease(house.catalog, lease)
    done = expire(house.catalog, NOBODY, LOG, SMALL)
    assert (len(done.selection.expired), done.files, done.after) == (13, 3, 2)
    assert house.log.scan().to_arrow().num_rows == 6
    assert _on_disk(house) == _reachable(house)
    left = json.loads(Path(urlparse(house.log.metadata_location).path).read_text())
    assert (left["format-version"], left["next-row-id"], left["snapshots"][-1]["added-rows"]) == (3, 6, 6)


def test_a_tag_that_is_set_meanwhile_stops_the_commit(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client that expires has not seen it; the next look does."""
    seals = house.grow(5)
    commit, tagged = house.catalog.commit_tables, list[int]()

    def late(changes: list[TableChange]) -> None:
        if not tagged:
            tagged.append(seals[1])
            commit([TableChange(("changelog", "things"), (), (set_tag("report", seals[1]),))])
        commit(changes)

    monkeypatch.setattr(house.catalog, "commit_tables", late)
    done = expire(house.catalog, NOBODY, LOG, SMALL)
    assert {holder.owner for holder in done.selection.blocked} == {"report"}
    assert house.log.scan(snapshot_id=seals[1]).to_arrow().num_rows == 2


@pytest.mark.rest
@pytest.mark.parametrize("versions", ["100", "1"])
def test_a_tag_that_a_rest_catalog_lets_go_is_told_before_a_file_is_deleted(
    rest_lake: Lake, monkeypatch: pytest.MonkeyPatch, versions: str
) -> None:
    """Nobody can require of it that there is no further reference: it drops the tag with its snapshot in silence."""
    name = rest_lake.create("a", SCHEMA, **{"write.metadata.previous-versions-max": versions})
    for number in range(4):
        rest_lake.write(f"s{number}", a=[number])
    table = rest_lake.load(name)
    line = [snapshot.snapshot_id for snapshot in ancestry(table, head_of(table))]
    commit = rest_lake.catalog.commit_tables

    def late(changes: list[TableChange]) -> None:
        monkeypatch.undo()
        commit([TableChange(table.name(), (), (set_tag("report", line[4]),))])
        commit(changes)

    monkeypatch.setattr(rest_lake.catalog, "commit_tables", late)
    with pytest.raises(TagLost, match=f"report was set on snapshot {line[4]}"):
        expire(rest_lake.catalog, NOBODY, name, SMALL)
    assert "report" not in rest_lake.load(name).metadata.refs
    lost = table.scan(snapshot_id=line[4]).to_arrow()  # from the metadata as it was before
    assert sorted(lost["n"].to_pylist()) == [0, 1]


@pytest.mark.rest
def test_expiry_on_a_rest_catalog(rest_lake: Lake) -> None:
    name = rest_lake.create("a")
    for number in range(4):
        rest_lake.write(f"s{number}", a=[number])
    done = expire(rest_lake.catalog, NOBODY, name, SMALL)
    assert (len(done.selection.expired), done.after) == (7, 2)
    assert done.metadata_files >= 7
    assert rest_lake.rows(name) == [0, 1, 2, 3]
    rest_lake.write("next", a=[4])
    assert rest_lake.rows(name) == [0, 1, 2, 3, 4]


def test_a_reference_that_moved_meanwhile_stops_the_commit(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator rolls back to one that stays: of those before it, fewer would be left than the policy keeps."""
    house.grow(5)
    policy = Expire(min_snapshots_to_keep=4, max_snapshots=4)
    line, commit = house.line, house.catalog.commit_tables

    def late(changes: list[TableChange]) -> None:
        monkeypatch.setattr(house.catalog, "commit_tables", commit)
        house.log.manage_snapshots().set_current_snapshot(line[2]).commit()
        commit(changes)

    monkeypatch.setattr(house.catalog, "commit_tables", late)
    done = expire(house.catalog, NOBODY, LOG, policy)
    assert house.line == line[2:6]  # decided anew
    assert set(done.selection.expired) == set(line[6:])


def test_a_kill_between_commit_and_deletion_leaves_orphans_and_a_whole_table(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.grow(5)
    monkeypatch.setenv("LAKEHOUSE_FAILPOINTS", "expire.between=fail")
    with pytest.raises(InjectedFault):
        expire(house.catalog, NOBODY, LOG, SMALL)
    monkeypatch.delenv("LAKEHOUSE_FAILPOINTS")
    assert len(house.line) == 2
    assert house.log.scan().to_arrow().num_rows == 5
    assert _reachable(house) < _on_disk(house)
    assert expire(house.catalog, NOBODY, LOG, SMALL).selection.snapshot_ids == ()
    house.grow(1)
    assert len(expire(house.catalog, NOBODY, LOG, SMALL).selection.snapshot_ids) == 2


def test_nothing_goes_while_a_rewrite_is_in_flight(house: House) -> None:
    house.grow(5)
    base = read_bases(house.catalog, [LOG])[LOG]
    open_branch(house.catalog, base, Attempt(run_id="r", step=f"maintain:{LOG}"))
    with pytest.raises(RewriteInFlight, match="lakehouse_attempt_maintain_changelog_things_"):
        expire(house.catalog, NOBODY, LOG, SMALL)
    assert len(house.line) == 11


def test_a_table_that_shares_its_files_is_refused(house: House) -> None:
    house.grow(5)
    with house.log.transaction() as change:
        change.set_properties({"gc.enabled": "false"})
    with pytest.raises(CannotExpire, match=r"gc\.enabled"):
        look(house.catalog, NOBODY, house.log, SMALL)


def test_what_a_rebase_left_on_no_reference_goes_a_day_later(sql_lake: Lake) -> None:
    """And what somebody rolled back stays as long as any other: he may want it again."""
    name = sql_lake.create("a")
    sql_lake.write("first", a=[1])
    staged = sql_lake.stage(sql_lake.bases(name)[name], Attempt(run_id="run", step="step"), [2])
    maintain(sql_lake, name)
    publish(sql_lake.catalog, [staged])
    kept = head_of(sql_lake.load(name))
    sql_lake.write("later", a=[3])
    rolled_back = head_of(sql_lake.load(name))
    sql_lake.load(name).manage_snapshots().set_current_snapshot(kept).commit()
    policy = Expire(max_snapshot_age=timedelta(days=3))
    counts: list[int] = []
    for hours in (23, 25, 71, 73):
        done = expire(sql_lake.catalog, NOBODY, name, policy, now=datetime.now(UTC) + timedelta(hours=hours))
        counts.append(len(done.selection.left_behind))
        assert sql_lake.rows(name) == [1, 2]
        assert (sql_lake.load(name).metadata.snapshot_by_id(rolled_back or 0) is not None) is (hours < 72)
    assert counts == [0, 2, 0, 2]


def test_a_pin_that_is_over_goes_with_an_expiry(house: House) -> None:
    seals = house.grow(5)
    begun = int((datetime.now(UTC) - timedelta(days=6)).timestamp() * 1000)
    tag = f"lakehouse_pin_{begun:011x}_run"
    house.catalog.commit_tables([TableChange(("changelog", "things"), (), (set_tag(tag, seals[1]),))])
    done = expire(house.catalog, NOBODY, LOG, SMALL)
    ((holder, _),) = done.selection.blocked.items()
    assert (holder.kind, holder.owner) == ("pin", tag)
    later = expire(house.catalog, NOBODY, LOG, SMALL, now=datetime.now(UTC) + timedelta(days=2))
    assert (later.selection.ended, later.selection.snapshot_ids) == ((tag,), (seals[1],))
    assert set(house.log.metadata.refs) == {"main"}


def test_a_persons_lease_holds_its_snapshot_and_all_after_it(house: House) -> None:
    seals = house.grow(5)
    lease = Lease(
        ("changelog", "things"), str(house.log.metadata.table_uuid), "year-end", seals[2], days_ahead(7), "audit"
    )
    assert take_lease(house.catalog, lease)
    (holder,) = holders_of(house.catalog, house.declarations, house.log)
    assert (holder.kind, holder.owner, holder.until, holder.reason) == ("lease", "year-end", lease.until, "audit")
    done = expire(house.catalog, house.declarations, LOG, SMALL)
    assert seals[2] in house.line
    assert len(done.selection.expired) == 6
    assert release_lease(house.catalog, lease.identifier, "year-end")
    assert len(expire(house.catalog, house.declarations, LOG, SMALL).selection.expired) == 3


def test_the_newest_seal_stays_whatever_comes_on_top(house: House) -> None:
    """Foreign commits without a seal would push it out: the position would be gone."""
    (seal,) = house.grow(1, rows=3)
    for offset in range(3):
        house.log.delete(f"_kafka_offset == {offset}")
    assert [s.snapshot_id for s in ancestry(house.log, house.head)].index(seal) == 3
    done = expire(house.catalog, NOBODY, LOG, SMALL)
    assert len(done.selection.expired) == 2
    assert house.line[-1] == seal
    assert "the newest seal is not older" in done.selection.kept.values()
