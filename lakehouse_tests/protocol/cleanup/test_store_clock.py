"""A machine whose clock is ahead judges no age: what is at work would be old to it.

Guarded mechanism: the store's own clock, asked before something goes for its age.
"""

import time
from pathlib import Path

import pytest

from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.cleanup.store_clock import ClockAhead, require_clock
from lakehouse_tests.fixtures.lakes import Lake, sql_settings


@pytest.mark.parametrize(("ahead_s", "refused"), [(-86_400, False), (0, False), (240, False), (360, True)])
def test_a_clock_beside_the_stores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ahead_s: int, *, refused: bool
) -> None:
    settings = sql_settings(tmp_path)
    lake = Lake(settings, open_catalog(settings), "raw", None)
    lake.catalog.create_namespace("raw")
    table = lake.load(lake.create("a"))
    files, real = set(tmp_path.rglob("*")), time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + ahead_s * 10**9)
    if refused:
        with pytest.raises(ClockAhead, match=r"raw\.a: this machine's clock says .* UTC, the store's .* UTC") as error:
            require_clock(table)
        assert "NTP" in error.value.remedy
    else:
        require_clock(table)
    assert set(tmp_path.rglob("*")) == files
