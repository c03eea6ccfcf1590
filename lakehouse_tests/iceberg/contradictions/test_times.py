"""Times that run backwards: a minute is the clocks' own, more is a contradiction with an exact remedy."""

import pytest

from lakehouse.iceberg.contradictions.times import contradictions_of_times

MINUTE = 60_000


@pytest.mark.parametrize("log", ["snapshot-log", "metadata-log"])
def test_a_minute_is_let_pass_and_no_more(log: str) -> None:
    entries = [{"timestamp-ms": 5 * MINUTE}, {"timestamp-ms": 4 * MINUTE}]
    assert list(contradictions_of_times({log: entries, "last-updated-ms": 3 * MINUTE})) == []
    ((words, remedy),) = contradictions_of_times({log: entries, "last-updated-ms": 3 * MINUTE - 1})
    assert words == f"the times in its {log} run backwards by more than a minute"
    assert "raise `last-updated-ms`, which is 179999, to 240000" in remedy
    entries[1]["timestamp-ms"] -= 1
    ((_, remedy),) = contradictions_of_times({log: entries, "last-updated-ms": 9 * MINUTE})
    assert f"`{log}[1].timestamp-ms`, which is 239999, to 300000" in remedy
