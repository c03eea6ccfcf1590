"""Which leases are late, and which of those may be dropped: none, unless the policy says after how long."""

from datetime import UTC, datetime, timedelta

from lakehouse.steps.maintenance.expire.overdue import droppable, late, warning
from lakehouse.steps.maintenance.model.past import HolderKind
from lakehouse.steps.maintenance.model.state import SnapshotHold

NOW = datetime(2026, 1, 10, tzinfo=UTC)
DAY = timedelta(days=1)


def hold(kind: HolderKind, overdue: timedelta | None) -> SnapshotHold:
    until = None if overdue is None else NOW - overdue
    return SnapshotHold(kind=kind, owner=f"{kind} {overdue}", snapshot_id=7, until=until, command="`end it`")


MIRROR, INCREMENTAL, LEASE = (hold(kind, DAY * days) for days, kind in enumerate(("mirror", "incremental", "lease"), 1))
AHEAD, FOR_EVER, PIN = hold("mirror", -DAY), hold("lease", None), hold("pin", 9 * DAY)
ALL = (MIRROR, INCREMENTAL, LEASE, AHEAD, FOR_EVER, PIN)


def test_a_lease_is_late_from_its_end_on() -> None:
    """One without an end never is, nor what is no lease: a step's pin ends with its step."""
    assert late(ALL, NOW) == (MIRROR, INCREMENTAL, LEASE)
    assert late([hold("lease", timedelta(0))], NOW)


def test_only_a_declared_grace_lets_a_lease_go() -> None:
    assert droppable(ALL, NOW, None) == ()
    assert droppable(ALL, NOW, 2 * DAY) == (INCREMENTAL, LEASE)


def test_the_warning_says_how_late_and_what_to_do() -> None:
    words = warning(INCREMENTAL, NOW)
    assert "is 2.0 days overdue and keeps all that follows" in words
    assert words.endswith("or end it: `end it`")
