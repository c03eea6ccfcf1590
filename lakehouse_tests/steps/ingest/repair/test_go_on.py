"""Where a stream goes on that takes rows over: from rows, a group or given offsets, and never on a guess."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.engines.kafka.topics import PartitionRange, TopicState
from lakehouse.settings import KafkaSettings
from lakehouse.steps.ingest.refusals import PositionBeyondEnd
from lakehouse.steps.ingest.repair import go_on as module
from lakehouse.steps.ingest.repair.go_on import (
    GoOn,
    GoOnFrom,
    GoOnUnknown,
    GroupActive,
    Rows,
    go_on_at,
    not_in_rows,
    read_again,
    repeated_offsets,
)

KAFKA = KafkaSettings(bootstrap_servers="127.0.0.1:1")
TOPIC = TopicState("birds", "cluster", "topic-id", {0: PartitionRange(2, 50), 1: PartitionRange(0, 9)})
offsets = st.lists(st.integers(0, 30), max_size=20)


def rows(**tables: Mapping[int, list[int]]) -> Rows:
    return {name: {p: np.array(o, np.int64) for p, o in by_p.items()} for name, by_p in tables.items()}


def first_offsets(go_on: GoOn, stored: Rows | None = None, *, nameless: bool = False) -> dict[int, int]:
    return go_on_at("birds", KAFKA, go_on, TOPIC, None, stored or {}, nameless=nameless)


def test_after_the_rows_of_all_tables_and_at_the_beginning_where_there_are_none() -> None:
    assert first_offsets(GoOn(GoOnFrom.ROWS), rows(a={0: [3, 7]}, b={0: [11]})) == {0: 12, 1: 0}
    assert first_offsets(GoOn(GoOnFrom.EARLIEST)) == {0: 2, 1: 0}
    assert first_offsets(GoOn(GoOnFrom.LATEST)) == {0: 50, 1: 9}


def test_rows_that_name_no_record_are_no_position() -> None:
    with pytest.raises(GoOnUnknown, match="--from group"):
        first_offsets(GoOn(GoOnFrom.ROWS), nameless=True)


def test_given_offsets() -> None:
    assert first_offsets(GoOn(GoOnFrom.OFFSETS, offsets={0: 40})) == {0: 40, 1: 0}
    with pytest.raises(GoOnUnknown, match="no partition 7"):
        first_offsets(GoOn(GoOnFrom.OFFSETS, offsets={7: 40}))
    with pytest.raises(GoOnUnknown, match="--offsets 0:1200"):
        first_offsets(GoOn(GoOnFrom.OFFSETS))
    with pytest.raises(PositionBeyondEnd, match=r"partition 1 offsets \[9, 10\)"):
        first_offsets(GoOn(GoOnFrom.OFFSETS, offsets={1: 10}))


def test_a_group_whose_writer_still_runs_is_no_position(monkeypatch: pytest.MonkeyPatch) -> None:
    members = ["consumer-1"]
    monkeypatch.setattr(module, "group_members", lambda kafka, group: tuple(members))
    monkeypatch.setattr(module, "committed_positions", lambda kafka, topic, group, partitions: {0: 30})
    with pytest.raises(GroupActive, match="consumer-1"):
        first_offsets(GoOn(GoOnFrom.GROUP, group="connect-birds"))
    members.clear()
    assert first_offsets(GoOn(GoOnFrom.GROUP, group="connect-birds")) == {0: 30, 1: 0}
    with pytest.raises(GoOnUnknown, match="--group"):
        first_offsets(GoOn(GoOnFrom.GROUP))


@given(offsets, offsets, st.integers(0, 30))
def test_what_repeats_what_comes_again_and_what_nobody_has(left: list[int], right: list[int], position: int) -> None:
    stored = rows(a={0: left}, b={0: right})
    both = [*left, *right]
    before = {offset for offset in both if offset < position}
    expected = {
        "repeated": len(both) - len(set(both)),
        "again": sum(offset >= position for offset in both),
        "nobody": position - min(before) - len(before) if before else 0,
    }
    counted = {
        "repeated": repeated_offsets(stored).get(0, 0),
        "again": read_again(stored, {0: position}).get(0, 0),
        "nobody": not_in_rows(stored, {0: position}).get(0, 0),
    }
    assert counted == expected
