"""What a refusal says can be done: the remedy is followed to the letter, and the step goes on."""

import re
import time

import pytest

from lakehouse.protocol.errors import ClockSkew
from lakehouse_tests.fixtures.lakes import Lake

pytestmark = pytest.mark.usefixtures("storage_of_our_clock")  # or the writer that is ahead would be refused
YEARS_NS = 3 * 365 * 86_400 * 10**9


def test_what_a_clock_that_was_ahead_has_written_can_be_undone(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its times stay ahead of everybody's for years, however clocks are set."""
    lake = sql_lake
    tables = [lake.create("a"), lake.create("b")]
    lake.write("first", a=[1], b=[1])
    real = time.time_ns
    with monkeypatch.context() as ahead:
        ahead.setattr(time, "time_ns", lambda: real() + YEARS_NS)
        lake.write("ahead", a=[2], b=[2])
    for name, other in zip(tables, reversed(tables), strict=True):
        with pytest.raises(ClockSkew, match=r"ahead of this machine's clock, at 20\d\d-") as refused:
            lake.write("again", **{name.rpartition(".")[2]: [2]})
        remedy = re.search(
            r"drop the entry (\S+) without purging it and register it anew with (\S+),", str(refused.value)
        )
        assert remedy is not None
        assert remedy[1] == name != other
        lake.catalog.drop_table(name)
        lake.catalog.register_table(name, remedy[2])
        assert lake.rows(name) == [1]
    lake.write("again", a=[2], b=[2])
    assert [lake.rows(name) for name in tables] == [[1, 2], [1, 2]]


def test_where_no_metadata_of_before_is_left_the_remedy_says_so(
    sql_lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = sql_lake.create("a", **{"write.metadata.previous-versions-max": "1"})
    real = time.time_ns
    with monkeypatch.context() as ahead:
        ahead.setattr(time, "time_ns", lambda: real() + YEARS_NS)
        sql_lake.write("ahead", a=[2])
    with pytest.raises(ClockSkew, match=f"or drop {name} and make it anew"):
        sql_lake.write("again", a=[3])
