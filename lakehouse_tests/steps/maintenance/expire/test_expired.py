"""What an expiry says of itself: what went and what stays, who holds what, and who cannot read on."""

from datetime import UTC, datetime

import pytest

from lakehouse.steps.maintenance.expire.consumers import CutOff
from lakehouse.steps.maintenance.expire.expired import Expired
from lakehouse.steps.maintenance.expire.snapshot_selection import SnapshotSelection
from lakehouse.steps.maintenance.model.state import SnapshotHold

HOLD = SnapshotHold(
    kind="lease", owner="report", snapshot_id=4, until=datetime(2026, 1, 2, 3, 4, tzinfo=UTC), command="`x`"
)
SELECTION = SnapshotSelection(expired=(1, 2), left_behind=(3,), kept={}, blocked={})
CUT_OFF = CutOff(kind="mirror", name="mirror.a", message="Its range is gone.", remedy="rebuild it.")


def test_what_went_is_counted() -> None:
    assert str(Expired(SELECTION, files=5, metadata_files=6)) == "3 snapshots went, with 5 files and 6 of metadata"


def test_who_holds_snapshots_is_named_with_what_ends_it() -> None:
    blocked = SnapshotSelection(kept={}, blocked={HOLD: 7})
    assert str(Expired(blocked)).endswith("; lease report holds 7 until 2026-01-02 03:04 UTC (`x`)")


@pytest.mark.parametrize(
    ("elsewhere", "outside", "words"),
    [
        (1, False, "1 file lies outside of file:/t, or where another table lies, and stays: that table may need them"),
        (2, True, "2 files lie outside of the catalog's warehouse, and stay: another lakehouse may need them"),
    ],
)
def test_files_that_stay_are_explained(elsewhere: int, outside: bool, words: str) -> None:
    expired = Expired(SELECTION, elsewhere=elsewhere, location="file:/t", outside=outside)
    assert str(expired).endswith(f"; {words}")


def test_who_was_given_up_is_no_breach() -> None:
    assert Expired(SELECTION, cut_off=(CUT_OFF,)).broken == (CUT_OFF,)
    given_up = Expired(SELECTION, cut_off=(CUT_OFF,), forsaken=frozenset({"mirror.a"}))
    assert given_up.broken == ()
    assert str(given_up).endswith("; mirror mirror.a cannot read on: Its range is gone. rebuild it.")
