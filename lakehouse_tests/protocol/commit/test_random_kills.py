"""Kill −9 at random moments inside the publish of two tables: both moved or none, and nothing of it is lost or doubled.

Guarded mechanism: the SQL catalog swaps all rows of a commit in one transaction. With one transaction per table this
test finds a half-published pair within a few kills.
"""

import random
import signal
import time
from statistics import median

import pytest

from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.protocol.commit.children import Child, work_on
from lakehouse_tests.protocol.commit.oracle import Oracle

pytestmark = [pytest.mark.kill, pytest.mark.slow]
KILLS = 25
TABLES = ("a", "b")


def test_both_moved_or_none(sql_lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    lake, oracle = sql_lake, Oracle.of(sql_lake)
    for name in TABLES:
        lake.create(name)
    usual = median(_publish(lake, number, kill_after=None)[0] for number in range(3))
    expected = {number: str(number) for number in range(3)}
    moved = 0
    chance = random.Random(7)
    for number in range(100, 100 + KILLS):
        _, killed = _publish(lake, number, kill_after=chance.uniform(0, 2 * usual))
        rows = [oracle.rows(name) for name in TABLES]
        assert rows[0] == rows[1]
        assert rows[0] in (expected, expected | {number: str(number)})
        assert killed or rows[0] != expected
        moved += rows[0] != expected
        expected = rows[0]
    lake.write("next", a=[999], b=[999])
    assert [oracle.rows(name) for name in TABLES] == [expected | {999: "999"}] * 2
    with capsys.disabled():
        print(f"\n{KILLS} kills −9 within {2000 * usual:.0f} ms of a publish: {moved} moved both tables, the rest none")


def _publish(lake: Lake, number: int, *, kill_after: float | None) -> tuple[float, bool]:
    """Publish a pair in a child; returns the seconds from its start to its end or kill, and whether it was killed."""
    with Child(work_on(lake, f"publish {number}", {name: [number] for name in TABLES})) as child:
        assert child.hear() == "open"
        child.go_on()
        assert child.hear() == "staged"
        started = time.monotonic()
        child.go_on()
        if kill_after is None:
            assert child.hear() == "published"
            return time.monotonic() - started, False
        time.sleep(kill_after)
        child.process.kill()
        return time.monotonic() - started, child.exit_code() == -signal.SIGKILL
