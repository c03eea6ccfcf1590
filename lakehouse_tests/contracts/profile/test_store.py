"""Statistics are kept once for each column and snapshot, whoever measures at the same time, and outlive everything."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from pyiceberg.table.snapshots import Snapshot

from lakehouse.contracts.profile.statistics import ColumnProfile
from lakehouse.contracts.profile.store import Kept, content_of, keep_statistics, kept_statistics
from lakehouse.declarations import STATISTICS
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.commit import publish, seal_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.seal import Seal
from lakehouse_tests.contracts.profile.samples import statistics_of, texts_of
from lakehouse_tests.fixtures.lakes import Lake

pytestmark = pytest.mark.slow

PROFILES = {"n": statistics_of([1.0, 2.0, None, 1e288]), "s": texts_of(["a", "b", None])}


def write(lake: Lake, name: str, *numbers: int) -> Snapshot:
    """Publish rows; returns the snapshot that brought them."""
    lake.write("write", **{name.split(".")[1]: numbers})
    snapshot = content(lake, name)
    assert snapshot
    return snapshot


def content(lake: Lake, name: str) -> Snapshot | None:
    table = lake.load(name)
    head = table.current_snapshot()
    return content_of(table, head.snapshot_id if head else None)


def keep(lake: Lake, name: str, snapshot: Snapshot, profiles: dict[str, ColumnProfile] = PROFILES) -> int:
    return keep_statistics(lake.catalog, lake.load(name), snapshot, profiles, run_id="run")


def kept(lake: Lake, name: str) -> Kept:
    table = lake.load(name)
    head = table.current_snapshot()
    return kept_statistics(open_catalog(lake.settings), table, head.snapshot_id if head else None)


def test_what_is_kept_is_what_was_measured(lake: Lake) -> None:
    name = lake.create("things")
    assert kept(lake, name) == Kept()
    snapshot = write(lake, name, 1, 2)
    assert keep(lake, name, snapshot) == 2
    assert {column: kept(lake, name).profile_at(column, snapshot.snapshot_id) for column in PROFILES} == PROFILES
    assert kept(lake, name).profile_at("n", 1) is None


def test_the_same_is_kept_once_however_often_and_at_the_same_time(sql_lake: Lake) -> None:
    name = sql_lake.create("things")
    snapshot = write(sql_lake, name, 1)
    with ThreadPoolExecutor(4) as pool:
        added = list(pool.map(lambda _: keep(sql_lake, name, snapshot), range(4)))
    assert sum(added) == 2
    assert keep(sql_lake, name, snapshot) == 0
    rows = sql_lake.load(STATISTICS.name).scan().to_arrow().to_pylist()
    assert sorted(row["column_name"] for row in rows) == ["n", "s"]


def test_history_is_what_came_before_oldest_first(sql_lake: Lake) -> None:
    name = sql_lake.create("things")
    snapshots: list[Snapshot] = []
    for number in range(4):
        snapshots.append(write(sql_lake, name, number))
        keep(sql_lake, name, snapshots[-1], {"n": statistics_of([float(number)])})
    history = kept(sql_lake, name)
    points = history.before("n", snapshots[3], 2)
    assert [point.snapshot_id for point in points] == [snapshot.snapshot_id for snapshot in snapshots[1:3]]
    assert [point.statistics for point in points] == [statistics_of([1.0]), statistics_of([2.0])]
    assert history.before("n", snapshots[0], 9) == []
    assert history.before("s", snapshots[3], 9) == []


def test_a_seal_without_rows_is_the_same_content(sql_lake: Lake) -> None:
    name = sql_lake.create("things")
    assert content(sql_lake, name) is None
    snapshot = write(sql_lake, name, 1)
    assert write(sql_lake, name).snapshot_id == snapshot.snapshot_id, "only a seal"
    later = write(sql_lake, name, 2)
    assert later.snapshot_id != snapshot.snapshot_id


def test_what_was_rolled_back_is_no_history(sql_lake: Lake) -> None:
    name = sql_lake.create("things")
    good = write(sql_lake, name, 1)
    head = sql_lake.load(name).current_snapshot()
    bad = write(sql_lake, name, 2)
    for snapshot in (good, bad):
        keep(sql_lake, name, snapshot)
    assert head
    sql_lake.load(name).manage_snapshots().set_current_snapshot(head.snapshot_id).commit()
    now = write(sql_lake, name, 3)
    assert [point.snapshot_id for point in kept(sql_lake, name).before("n", now, 9)] == [good.snapshot_id]


def test_a_table_made_anew_has_no_history(sql_lake: Lake) -> None:
    name = sql_lake.create("things")
    keep(sql_lake, name, write(sql_lake, name, 1))
    sql_lake.catalog.drop_table(name)
    sql_lake.create("things")
    assert kept(sql_lake, name).before("n", write(sql_lake, name, 1), 9) == []


def test_keeping_goes_through_the_protocol(sql_lake: Lake) -> None:
    name = sql_lake.create("things")
    keep(sql_lake, name, write(sql_lake, name, 1))
    base = read_bases(sql_lake.catalog, [STATISTICS.name])[STATISTICS.name]
    assert base.sealed
    assert (base.sealed.seal.kind, base.sealed.seal.run_id) == ("statistics", "run")
    assert base.sealed.seal.statement == {"statistics.added": "2"}
    assert list(base.table.metadata.refs) == ["main"], "no branch is left"


def test_losing_a_race_is_no_failure(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another publishes between our look and our publish; what it kept is not kept again."""
    name = sql_lake.create("things")
    snapshot = write(sql_lake, name, 1)
    keep(sql_lake, name, snapshot, {"first": PROFILES["n"]})
    raced: list[int] = []

    def publish_late(catalog: object, staged: object) -> object:
        if len(raced) < 3:
            raced.append(len(raced))
            base = read_bases(sql_lake.catalog, [STATISTICS.name])[STATISTICS.name]
            other = Attempt(run_id="other", step="statistics")
            seal = Seal.of(other, "statistics", statement={}, previous=base.sealed.seal if base.sealed else None)
            publish(sql_lake.catalog, [seal_branch(sql_lake.catalog, base, other, seal)])
        return publish(catalog, staged)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr("lakehouse.protocol.commit.append.publish", publish_late)
    assert keep(sql_lake, name, snapshot) == 2
    assert len(raced) == 3
    assert kept(sql_lake, name).profile_at("n", snapshot.snapshot_id) == PROFILES["n"]
