"""`lakehouse lease`, as a person calls it. What it does: `maintenance/expire/test_holds.py`, `test_expire.py`."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner, Result

from lakehouse.cli import app
from lakehouse.cli.commands.prove.audit_leases import LEASES
from lakehouse.cli.commands.prove.audit_scope import Auditing
from lakehouse.declarations import Expire
from lakehouse.protocol.leases.lease import held_leases, leases
from lakehouse.steps.maintenance.expire.expire import expire
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.maintenance.house import LOG, MIRROR, House, days_ahead, keep_on_main

pytestmark = pytest.mark.slow

SMALL = Expire(min_snapshots_to_keep=2, max_snapshots=2)


@pytest.fixture
def house(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> House:
    made = House.of(sql_lake)
    monkeypatch.setattr("lakehouse.cli.declared.load_sound", lambda *_, **__: made.declarations)
    monkeypatch.setattr("lakehouse.cli.commands.maintain.lease.catalog_of", lambda _: made.catalog)
    return made


def call(*words: str) -> Result:
    return CliRunner().invoke(app, ("lease", *words), env={"COLUMNS": "80"})


def test_a_person_holds_a_snapshot_and_lets_it_go(house: House) -> None:
    seals = house.grow(4)
    taken = call("take", LOG, "year-end", "--for", "7d", "--reason", "the auditors", "--snapshot", str(seals[1]))
    assert taken.exit_code == 0, taken.output
    assert f"year-end holds snapshot {seals[1]} of {LOG} and all that follow until" in taken.stdout
    (lease,) = held_leases(house.log)
    assert lease.until is not None
    assert abs(lease.until - datetime.now(UTC) - timedelta(days=7)) < timedelta(minutes=1)
    assert len(expire(house.catalog, house.declarations, LOG, SMALL).selection.expired) == 4
    (listed,) = json.loads(call("list", LOG, "--json").stdout)
    assert (listed["owner"], listed["kind"], listed["snapshot_id"], listed["behind"]) == (
        "year-end",
        "lease",
        seals[1],
        4,
    )
    assert (listed["state"], listed["reason"]) == ("held", "the auditors")
    line = call("list").stdout
    assert line.startswith("TABLE  STATE  WHO  SNAPSHOT  UNTIL  WHY\n")
    assert f"{LOG}  held     lease year-end  snapshot {seals[1]} (4 behind)  until" in line
    words = ("--for", "7d", "--reason", "the auditors", "--snapshot", str(seals[1]), "--json")
    renewed = json.loads(call("take", LOG, "year-end", *words).stdout)
    (lease,) = held_leases(house.log)
    assert lease.until is not None
    assert renewed == {
        "table": LOG,
        "owner": "year-end",
        "snapshot_id": seals[1],
        "until": lease.until.isoformat(),
        "reason": "the auditors",
    }
    assert "Nothing was changed" in call("release", LOG, "year-end").stdout
    assert json.loads(call("release", LOG, "year-end", "--json").stdout) == {
        "table": LOG,
        "owner": "year-end",
        "snapshot_id": seals[1],
        "behind": 4,
        "done": False,
        "needs_rebuild": False,
    }
    assert len(leases(house.log)) == 1
    assert "Ended: year-end holds" in call("release", LOG, "year-end", "--yes").stdout
    assert leases(house.log) == {}
    assert "Nobody holds old snapshots." in call("list").stdout
    assert len(expire(house.catalog, house.declarations, LOG, SMALL).selection.expired) == 3


def test_what_a_lagging_mirror_has_not_read_is_given_up_with_a_yes(house: House) -> None:
    first, *_ = house.grow(4)
    house.mirror(first, until=days_ahead(-1))
    assert f"{LOG}  overdue  mirror {MIRROR}" in call("list").stdout
    shown = call("release", LOG, MIRROR)
    assert "what it has not read of them is given up, and mirror.things will need a rebuild" in shown.stdout
    assert call("release", LOG, MIRROR, "--yes").exit_code == 0
    assert "Nobody holds" in call("list").stdout
    assert len(expire(house.catalog, house.declarations, LOG, SMALL).selection.expired) == 7


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("take", LOG, MIRROR, "--for", "7d", "--reason", "r"), "reads changelog.things in ranges"),
        (("take", LOG, "me", "--for", "7d", "--reason", "r", "--snapshot", "4711"), "has no snapshot 4711"),
        (("take", LOG, "me", "--for", "soon", "--reason", "r"), "--for is 'soon'. Remedy: write a number and a unit"),
        (("release", LOG, "me", "--yes"), "me holds nothing of changelog.things"),
        (("list", "no.table"), "no.table"),
    ],
)
def test_what_cannot_be_done_is_one_line(house: House, words: tuple[str, ...], message: str) -> None:
    house.grow(1)
    result = call(*words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.strip().count("\n") == 0
    assert leases(house.log) == {}


def test_of_a_table_without_snapshots_nothing_can_be_held_yet(house: House) -> None:
    printed = call("take", LOG, "me", "--for", "7d", "--reason", "r").stderr
    assert f"{LOG} has no snapshot yet, so there is nothing to hold. Remedy: take it again when something" in printed


def test_the_audit_names_whom_the_list_names(house: House) -> None:
    first, *_ = house.grow(2)
    house.mirror(first, until=days_ahead(1))
    assert call("take", LOG, "anna", "--for", "7d", "--reason", "r").exit_code == 0
    house.log.manage_snapshots().create_tag(first, "mine").commit()
    listed = [f"{lease['kind']} {lease['owner']}" for lease in json.loads(call("list", LOG, "--json").stdout)]
    assert listed == ["lease anna", f"mirror {MIRROR}"]
    assert LEASES.prove(Auditing(house.catalog, house.declarations), LOG).holders == tuple(listed)
    assert LOG in LEASES.names(house.declarations)


def test_names_that_differ_in_signs_alone_hold_each_for_itself(house: House) -> None:
    house.grow(1)
    assert call("take", LOG, "year [end]", "--for", "7d", "--reason", "r").exit_code == 0
    assert call("take", LOG, "year [end]", "--for", "9d", "--reason", "longer").exit_code == 0
    assert call("take", LOG, "year-end-", "--for", "7d", "--reason", "r").exit_code == 0
    assert {(lease.owner, lease.reason) for lease in held_leases(house.log)} == {
        ("year [end]", "longer"),
        ("year-end-", "r"),
    }
    commands = {lease["command"] for lease in json.loads(call("list", LOG, "--json").stdout)}
    assert f"lakehouse lease release {LOG} 'year [end]' --yes" in commands
    assert "Ended: year [end] holds" in call("release", LOG, "year [end]", "--yes").stdout
    assert [lease.owner for lease in held_leases(house.log)] == ["year-end-"]


def test_what_main_itself_keeps_is_shown_and_is_no_lease(house: House) -> None:
    house.grow(3)
    keep_on_main(house, min_snapshots_to_keep=4)
    assert f"{LOG}  held     branch main  snapshot {house.line[3]} (3 behind)  without end" in call("list").stdout
    assert "main holds nothing" in call("release", LOG, "main", "--yes").stderr


def test_all_shows_every_holder(house: House) -> None:
    (seal,) = house.grow(1)
    house.log.manage_snapshots().create_tag(seal, "mine").commit()
    assert "Nobody" in call("list").stdout
    assert f"{LOG}  held     tag mine  snapshot {seal} (0 behind)  without end" in call("list", "--all").stdout
