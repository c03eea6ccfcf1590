"""A writer whose clock is ahead is refused before it has written a time, so that no true clock is refused after it."""

import time
from collections.abc import Callable

import pytest

from lakehouse.protocol.catalog import TableChange, set_tag
from lakehouse.protocol.errors import ClockSkew
from lakehouse_tests.fixtures.lakes import Lake

HOUR_NS = 3600 * 10**9


def write(lake: Lake) -> None:
    lake.write("ahead", a=[2])


def tag(lake: Lake) -> None:
    snapshot = lake.load(f"{lake.namespace}.a").current_snapshot()
    assert snapshot is not None
    lake.catalog.commit_tables([TableChange((lake.namespace, "a"), (), (set_tag("t", snapshot.snapshot_id),))])


@pytest.mark.parametrize("commit", [write, tag])
def test_a_clock_that_is_ahead_is_refused_and_a_true_one_goes_on(
    sql_lake: Lake, monkeypatch: pytest.MonkeyPatch, commit: Callable[[Lake], None]
) -> None:
    ahead_of_the_storage(sql_lake, monkeypatch, commit)


@pytest.mark.rest
def test_a_catalog_server_hears_of_no_time_that_is_ahead(rest_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    ahead_of_the_storage(rest_lake, monkeypatch, write)


def ahead_of_the_storage(lake: Lake, monkeypatch: pytest.MonkeyPatch, commit: Callable[[Lake], None]) -> None:
    name = lake.create("a")
    lake.write("first", a=[1])
    location, real = lake.load(name).metadata_location, time.time_ns
    with monkeypatch.context() as ahead:
        ahead.setattr(time, "time_ns", lambda: real() + HOUR_NS)
        with pytest.raises(ClockSkew, match=rf"{name}: this machine's clock is 3[56]\d\d s ahead .*by NTP"):
            commit(lake)
    assert lake.load(name).metadata_location == location
    lake.write("true", a=[2])
    assert lake.rows(name) == [1, 2]


def test_a_clock_that_is_behind_the_storage_is_the_tables_business(
    sql_lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = sql_lake.create("a")
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() - 30 * 10**9)
    sql_lake.write("first", a=[1])
    assert sql_lake.rows(name) == [1]
