"""Where nobody has asked for a count, a publish forgets no snapshot that other engines are told of."""

import pytest

from lakehouse.protocol.commit.trim import AGE_PROPERTY, outdated_snapshots
from lakehouse_tests.protocol.commit.test_trim import History


def test_without_a_count_nothing_goes_that_is_younger_than_the_age(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guarded mechanism: other engines are told an age (`history.expire.max-snapshot-age-ms`), and count on it."""
    history = History()
    for _ in range(200):
        history.happen("publish", 0)
    head = history.commit(history.commit(history.main))
    line = history.line(head)
    day_ms = 24 * 3600 * 1000
    monkeypatch.setattr("time.time_ns", lambda: (5 * day_ms + 100) * 1_000_000)  # snapshot n was made at millisecond n
    assert outdated_snapshots(history.table(None), head) == [snapshot_id for snapshot_id in line if snapshot_id < 100]
    table = history.table(None)
    table.metadata.properties[AGE_PROPERTY] = "1000"
    assert outdated_snapshots(table, head) == line[50:]
    table.metadata.properties[AGE_PROPERTY] = "five days"
    assert outdated_snapshots(table, head) == [snapshot_id for snapshot_id in line if snapshot_id < 100]
