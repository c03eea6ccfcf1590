"""Everybody who holds snapshots is found and named, whether by a reference or by what its own seal says.

Guarded mechanisms: `holders`, late leases being loud and dropped only after a declared grace, and abandoned branches.
"""

from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from lakehouse.declarations import Declarations, Expire, Maintenance, Mirror
from lakehouse.declarations.own_tables.action_effect import ActionEffect
from lakehouse.protocol.catalog import TableChange, open_catalog, set_tag
from lakehouse.protocol.commit import open_branch
from lakehouse.protocol.leases.lease import Lease, lease_tag, leases, take_lease
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.cdc.step import MirrorStep, plan_work
from lakehouse.steps.cdc.verify.audit import audit_mirror
from lakehouse.steps.derived.inputs.pins import Pin
from lakehouse.steps.derived.plan import DeriveStep, prepare
from lakehouse.steps.maintenance.expire import expire, overdue
from lakehouse.steps.maintenance.expire.holds import holders_of
from lakehouse.steps.maintenance.model.action import Action, Operation
from lakehouse.steps.maintenance.model.state import SnapshotHold
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.cdc.mirrored import BIRDS, MirroredLake, insert
from lakehouse_tests.steps.cdc.mirrored import LOG as CHANGES
from lakehouse_tests.steps.maintenance.house import COPY, GROUP, LOG, MIRROR, House, days_ahead, work_on

pytestmark = pytest.mark.slow

SMALL = Expire(min_snapshots_to_keep=2, max_snapshots=2, at_least=1)
DROPS = Maintenance(expire=Expire(min_snapshots_to_keep=2, max_snapshots=2, lease_grace=timedelta(days=2)))
DROP = Action(operation=Operation.LEASES)
IDENTIFIER = ("changelog", "things")


@pytest.fixture
def house(sql_lake: Lake) -> House:
    return House.of(sql_lake)


def _holders(house: House) -> dict[tuple[str, str], SnapshotHold]:
    return {(holder.kind, holder.owner): holder for holder in holders_of(house.catalog, house.declarations, house.log)}


def _owners(house: House) -> set[tuple[str, str]]:
    return set(_holders(house))


def test_every_kind_is_named_with_what_to_do_about_it(house: House) -> None:
    seals = house.grow(4)
    house.mirror(seals[0], until=days_ahead(7))
    house.copy(seals[1], leased=False)
    release_id = house.release()
    uuid = str(house.log.metadata.table_uuid)
    assert take_lease(house.catalog, Lease(IDENTIFIER, uuid, "year-end", seals[2], days_ahead(3), "audit"))
    pin, checkpoint = f"lakehouse_pin_{1_700_000_000_000:011x}_run_7", "lakehouse_checkpoint_abc"
    tags = {pin: seals[1], checkpoint: seals[1], "mine": seals[1]}
    house.catalog.commit_tables(
        [TableChange(IDENTIFIER, (), tuple(set_tag(t, snapshot_id) for t, snapshot_id in tags.items()))]
    )
    attempt = Attempt(run_id="r", step="ingest:things")
    open_branch(house.catalog, read_bases(house.catalog, [LOG])[LOG], attempt)
    house.log.manage_snapshots().create_branch(seals[1], "trial").commit()
    holders = _holders(house)
    assert set(holders) == {
        ("mirror", MIRROR),
        ("incremental", COPY),
        ("lease", "year-end"),
        ("release", release_id),
        ("release", f"{GROUP}-current"),
        ("pin", pin),
        ("checkpoint", checkpoint),
        ("tag", "mine"),
        ("attempt", attempt.branch),
        ("branch", "trial"),
    }
    assert {owner for (_, owner), holder in holders.items() if holder.since_on} == {MIRROR, COPY, "year-end"}
    assert holders["mirror", MIRROR].snapshot_id == seals[0]
    assert holders["incremental", COPY].snapshot_id == seals[1]
    assert holders["pin", pin].until == datetime.fromtimestamp(1_700_000_000, UTC) + timedelta(days=7)
    assert all(holder.command for holder in holders.values())
    assert holders["branch", "trial"].command == f"ALTER TABLE {LOG} DROP BRANCH `trial`"
    assert holders["tag", "mine"].command == f"ALTER TABLE {LOG} DROP TAG `mine`"
    assert holders["mirror", MIRROR].command == f"lakehouse lease release {LOG} {MIRROR} --yes"


@pytest.mark.parametrize("kind", ["tag", "branch", "checkpoint"])
def test_a_reference_holds_until_it_is_dropped(house: House, kind: str) -> None:
    seals = house.grow(5)
    name = {"tag": "report", "branch": "trial", "checkpoint": "lakehouse_checkpoint_abc"}[kind]
    with house.log.manage_snapshots() as manage:
        (manage.create_branch if kind == "branch" else manage.create_tag)(seals[1], name)
    done = expire.expire(house.catalog, house.declarations, LOG, SMALL)
    assert [(holder.kind, holder.owner) for holder in done.selection.blocked] == [(kind, name)]
    assert house.log.scan(snapshot_id=seals[1]).to_arrow().num_rows == 2
    with house.log.manage_snapshots() as manage:
        (manage.remove_branch if kind == "branch" else manage.remove_tag)(name)
    after = expire.expire(house.catalog, house.declarations, LOG, SMALL, now=days_ahead(2))
    assert after.selection.snapshot_ids == (seals[1],)


@pytest.mark.parametrize("odd", ["lakehouse_pin_ffffffffffffff_x", "lakehouse_pin_x", "lakehouse_pin_19a_x"])
def test_a_tag_that_only_begins_like_a_pin_is_a_tag_and_never_ends(house: House, odd: str) -> None:
    (seal,) = house.grow(1)
    house.catalog.commit_tables([TableChange(IDENTIFIER, (), (set_tag(odd, seal),))])
    assert _holders(house)["tag", odd].until is None
    assert expire.expire(house.catalog, house.declarations, LOG, SMALL, now=days_ahead(400)).selection.ended == ()


def test_an_attempt_under_way_holds_its_base_and_what_it_has_staged(sql_lake: Lake) -> None:
    name = sql_lake.create("a")
    sql_lake.write("first", a=[1])
    base = sql_lake.bases(name)[name]
    staged = sql_lake.stage(base, Attempt(run_id="slow", step="s"), [100])
    for number in range(2, 6):
        sql_lake.write(f"s{number}", a=[number])
    done = expire.expire(sql_lake.catalog, Declarations({}, {}, {}), name, SMALL)
    ((holder, count),) = done.selection.blocked.items()
    assert (holder.kind, holder.owner, count) == ("attempt", staged.branch, 1)
    assert sorted(sql_lake.load(name).scan(snapshot_id=staged.head).to_arrow()["n"].to_pylist()) == [1, 100]
    assert sql_lake.load(name).metadata.snapshot_by_id(base.snapshot_id or 0) is not None


def test_what_a_mirror_began_with_is_held_for_its_proof_and_rebuild(sql_lake: Lake) -> None:
    mirror = Mirror(name=BIRDS, changelog=CHANGES, initial="raw.old")
    lake = MirroredLake(open_catalog(sql_lake.settings), mirror=mirror)
    lake.begin_with([{"id": 1, "name": "a", "weight": 1.0}, {"id": 2, "name": "b", "weight": 2.0}])
    assert holders_of(lake.catalog, lake.declarations, lake.load("raw.old")) == ()
    lake.ingest(insert(3, 3))
    lake.apply()
    rows = lake.load("raw.old").scan().to_arrow()
    lake.load("raw.old").overwrite(rows)
    for _ in range(2):
        lake.load("raw.old").append(rows)
    done = expire.expire(lake.catalog, lake.declarations, "raw.old", SMALL, now=days_ahead(2))
    assert len(done.selection.snapshot_ids) == 2
    ((holder, count),) = done.selection.blocked.items()
    assert (holder.kind, holder.owner, holder.since_on, count) == ("mirror", BIRDS, False, 1)
    assert "proof and a rebuild read it" in holder.reason
    assert lake.initial_name == f"raw.old@{holder.snapshot_id}"
    proof = audit_mirror(lake.catalog, lake.tables, lake.declarations)
    assert (proof.holds, proof.errors) == (True, ())
    assert proof.fold is not None
    assert lake.initial_name in proof.fold.began


def test_who_has_read_everything_is_not_late(house: House) -> None:
    """Nothing new came, so it did not run, so nobody renewed the lease: that is as it should be."""
    seals = house.grow(3)
    house.mirror(seals[2], until=days_ahead(-3))
    assert overdue.late(_holders(house).values(), datetime.now(UTC)) == ()
    house.feed.append([])  # an ingest that found nothing
    assert overdue.late(_holders(house).values(), datetime.now(UTC)) == ()
    house.grow(1)
    (holder,) = overdue.late(_holders(house).values(), datetime.now(UTC))
    assert (holder.owner, holder.snapshot_id) == (MIRROR, seals[2])
    assert "3.0 days overdue" in overdue.warning(holder, datetime.now(UTC))


def test_a_late_lease_is_loud_and_goes_only_after_its_grace(house: House) -> None:
    seals = house.grow(6)
    house.mirror(seals[1], until=days_ahead(1))
    uuid = str(house.log.metadata.table_uuid)
    take_lease(house.catalog, Lease(IDENTIFIER, uuid, "year-end", seals[0], days_ahead(2), "audit"))
    work, messages = work_on(house.catalog, house.declarations, LOG, DROPS), list[str]()
    never = work_on(house.catalog, house.declarations, LOG, Maintenance())
    assert overdue.run(never, DROP, now=days_ahead(400)).result == "nothing"  # late, and no grace is declared
    assert overdue.run(work, DROP, now=days_ahead(2.5)).result == "nothing"
    shown = overdue.run(work_on(house.catalog, house.declarations, LOG, DROPS, allow=False), DROP, now=days_ahead(3.5))
    assert shown.result == "dry_run"
    assert len(leases(house.log)) == 2
    work = work_on(house.catalog, house.declarations, LOG, DROPS, messages=messages)
    done = overdue.run(work, DROP, now=days_ahead(3.5))
    assert (done.result, done.effect) == ("done", ActionEffect(leases=1))
    assert f"dropped the lease of mirror {MIRROR}" in done.message
    assert "2.5 days overdue" in messages[0]
    assert _owners(house) == {("lease", "year-end")}  # the mirror's own seal no longer holds anything either
    overdue.run(work, DROP, now=days_ahead(5))
    assert _owners(house) == set()
    assert len(expire.expire(house.catalog, house.declarations, LOG, SMALL).selection.expired) == 11


def test_an_owner_that_moves_its_lease_meanwhile_keeps_it(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    seals = house.grow(6)
    house.mirror(seals[1], until=days_ahead(1))
    commit = house.catalog.commit_tables

    def late(changes: list[TableChange]) -> None:
        monkeypatch.undo()
        house.mirror(seals[4], until=days_ahead(9))
        commit(changes)

    monkeypatch.setattr(house.catalog, "commit_tables", late)
    done = overdue.run(work_on(house.catalog, house.declarations, LOG, DROPS), DROP, now=days_ahead(4))
    assert done.result == "nothing"
    assert "is at work after all" in done.message
    assert _holders(house)["mirror", MIRROR].snapshot_id == seals[4]


@pytest.mark.parametrize("moved", [True, False])
def test_a_lease_that_is_renewed_while_it_is_judged_stays(
    house: House, monkeypatch: pytest.MonkeyPatch, *, moved: bool
) -> None:
    """Between the look that found it late and its end: whoever renews it then has not been given up."""
    seals, uuid, judged = house.grow(6), str(house.log.metadata.table_uuid), overdue.holders
    late, renewed = (
        Lease(IDENTIFIER, uuid, "year-end", seals[position], days_ahead(days), "audit")
        for position, days in ((1, 1), (3 if moved else 1, 9))
    )
    assert take_lease(house.catalog, late)

    def meanwhile(*asked: object) -> tuple[SnapshotHold, ...]:
        judgement = judged(*asked)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        assert take_lease(house.catalog, renewed)
        return judgement

    monkeypatch.setattr(overdue, "holders", meanwhile)
    done = overdue.run(work_on(house.catalog, house.declarations, LOG, DROPS), DROP, now=days_ahead(4))
    assert (done.result, done.effect) == ("nothing", ActionEffect(leases=0))
    assert _holders(house)["lease", "year-end"].until == renewed.until


@pytest.mark.parametrize("back", [0, 4])
def test_a_mirror_that_was_rolled_back_takes_its_lease_back_with_it(house: House, back: int) -> None:
    """Its seal says where it begins; the lease of before would let the range be trimmed while it is read."""
    seals = house.grow(6)
    house.mirror(seals[back], leased=False)
    uuid = str(house.log.metadata.table_uuid)
    assert take_lease(house.catalog, Lease(IDENTIFIER, uuid, MIRROR, seals[2], days_ahead(7)))
    attempt = Attempt(run_id="run", step=f"mirror:{MIRROR}")
    work = plan_work(MirrorStep(house.declarations.mirrors[MIRROR], house.catalog, _no_spark, attempt))
    assert work.change_range is not None
    assert work.change_range.start == seals[back] == leases(house.log)[lease_tag(MIRROR)]


@pytest.mark.parametrize("back", [0, 4])
def test_so_does_an_incremental_table(house: House, back: int) -> None:
    seals = house.grow(6)
    house.copy(seals[back], leased=False)
    uuid, begun = str(house.log.metadata.table_uuid), int(datetime.now(UTC).timestamp() * 1000)
    assert take_lease(house.catalog, Lease(IDENTIFIER, uuid, COPY, seals[2], days_ahead(7)))
    attempt = Attempt(run_id="run", step=f"derive:{COPY}", runtime_date="2024-01-01")
    derived, pin = house.declarations.derived[COPY], Pin("run", begun)
    work = prepare(DeriveStep(derived, house.declarations, house.catalog, _no_spark, attempt, pin))
    assert work.increment is not None
    assert work.increment.start == seals[back] == leases(house.log)[lease_tag(COPY)]


def _no_spark() -> AbstractContextManager[SparkSession]:
    raise AssertionError("planning needs no Spark")
