"""Many append to one table: each row is there once, and who cannot get through says so."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from lakehouse.protocol.cleanup.housekeeping import abandoned_branches
from lakehouse.protocol.commit import Missing, append_absent
from lakehouse.protocol.errors import TableBusy
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse_tests.fixtures.lakes import Lake

pytestmark = pytest.mark.slow


def absent(*numbers: int) -> Callable[[Base], Missing]:
    """Those numbers that a table does not hold."""

    def missing(base: Base) -> Missing:
        present = base.table.scan(snapshot_id=base.snapshot_id).to_arrow()["n"].to_pylist() if base.snapshot_id else []
        new = [{"n": number} for number in numbers if number not in present]
        return Missing(new, {"appended": str(len(new))})

    return missing


def append(lake: Lake, name: str, missing: Callable[[Base], Missing]) -> Missing:
    return append_absent(lake.catalog, name, Attempt(run_id="run", step="append"), "append", missing)


def test_only_what_is_absent_is_appended_and_nothing_is_no_commit(lake: Lake) -> None:
    name = lake.create("things")
    assert append(lake, name, absent(1, 2)).statement == {"appended": "2"}
    assert append(lake, name, absent(2, 3)).rows == [{"n": 3}]
    location = lake.load(name).metadata_location
    assert not append(lake, name, absent(1, 2, 3)).rows
    assert lake.load(name).metadata_location == location
    assert lake.rows(name) == [1, 2, 3]


def test_who_is_overtaken_asks_again_and_leaves_no_branch(lake: Lake) -> None:
    name = lake.create("things")
    asked: list[int | None] = []

    def overtaken(base: Base) -> Missing:
        appended = absent(1, 2)(base)
        if not asked:
            append(lake, name, absent(1))
        asked.append(base.snapshot_id)
        return appended

    assert append(lake, name, overtaken).rows == [{"n": 2}]
    assert len(asked) == 2
    assert lake.rows(name) == [1, 2]
    assert not abandoned_branches(lake.load(name), older_than=timedelta(0))


def test_who_is_always_overtaken_says_so(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakehouse.protocol.commit.append._TRIES", 2)
    name, others = sql_lake.create("things"), iter(range(100, 200))

    def overtaken(base: Base) -> Missing:
        append(sql_lake, name, absent(next(others)))
        return absent(1)(base)

    with pytest.raises(TableBusy, match=f"{name}: others appended first 2 times in a row"):
        append(sql_lake, name, overtaken)
