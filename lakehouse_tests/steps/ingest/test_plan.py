"""What is read next, and when nothing is read: by seals and topic alone."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.engines.kafka.loss_ledger import AcceptedLoss
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.topics import PartitionRange, TopicState
from lakehouse.steps.ingest.plan import IngestPlan, plan_range, require_retained, share
from lakehouse.steps.ingest.refusals import (
    ClusterChanged,
    IngestRefused,
    LogTruncated,
    PartitionsVanished,
    PositionBeyondEnd,
    RetentionOvertook,
    StartNotInLog,
    TopicRecreated,
)
from lakehouse.steps.ingest.repair.loss import plan_loss


def topic(ranges: dict[int, tuple[int, int]], **ids: str) -> TopicState:
    return TopicState(
        "t", ids.get("cluster", "c"), ids.get("topic", "i"), {p: PartitionRange(*r) for p, r in ranges.items()}
    )


def stored(ends: dict[int, int]) -> KafkaStatement:
    return KafkaStatement("c", "t", "i", {}, ends)


def plan(
    previous: KafkaStatement | None, state: TopicState, first: dict[int, int] | None = None, limit: int = 10**9
) -> IngestPlan:
    return plan_range("s", previous, state, first=first or {}, max_records=limit)


def test_a_first_start_reads_from_earliest_to_the_last_stable_offset() -> None:
    assert plan(None, topic({0: (3, 10), 1: (0, 0)})).ranges == {0: (3, 10)}


def test_a_first_start_without_records_still_has_a_position_to_seal() -> None:
    assert plan(None, topic({0: (0, 0)})).needed


def test_it_continues_where_the_seal_ended_and_stops_when_there_is_nothing_new() -> None:
    assert plan(stored({0: 7}), topic({0: (0, 10)})).ranges == {0: (7, 10)}
    assert not plan(stored({0: 10}), topic({0: (0, 10)})).needed


def test_a_log_that_was_cut_below_the_position_is_refused_and_a_person_can_go_on() -> None:
    """Its new records reach beyond the position, so nothing else shows it."""
    cut = replace(topic({0: (0, 15), 1: (0, 5)}), leader_epochs={0: 4, 1: 0}, truncated=frozenset({0}))
    with pytest.raises(LogTruncated, match=r"below the stored position.*partition 0 offsets \[0, 10\)") as refused:
        plan(stored({0: 10, 1: 5}), cut)
    assert "accept-loss s --new-epoch --yes" in refused.value.remedy
    accepted = plan_loss("s", stored({0: 10, 1: 5}), cut, new_epoch=True).statement
    assert (accepted.end, accepted.leader_epochs) == ({0: 10, 1: 5}, {0: 4, 1: 0})


def test_a_new_partition_starts_at_the_beginning_of_its_log() -> None:
    planned = plan(stored({0: 10}), topic({0: (0, 10), 1: (0, 6)}))
    assert planned.ranges == {1: (0, 6)}
    assert planned.start == {0: 10, 1: 0}


def test_what_retention_took_of_a_new_partition_before_anybody_looked_is_a_loss_like_any_other() -> None:
    with pytest.raises(RetentionOvertook) as caught:
        plan(stored({0: 10}), topic({0: (0, 10), 1: (4, 6)}))
    assert caught.value.ranges == {1: (0, 4)}


def test_given_first_offsets_are_taken_and_the_rest_starts_at_earliest() -> None:
    assert plan(None, topic({0: (0, 10), 1: (2, 5)}), {0: 8}).ranges == {0: (8, 10), 1: (2, 5)}


@pytest.mark.parametrize(
    ("state", "refusal", "ranges"),
    [
        (topic({0: (12, 20), 1: (0, 9)}), RetentionOvertook, {0: (10, 12)}),
        (topic({0: (0, 20), 1: (0, 9)}, cluster="other"), ClusterChanged, {0: (0, 10), 1: (0, 5)}),
        (topic({0: (0, 20), 1: (0, 9)}, topic="other"), TopicRecreated, {0: (0, 10), 1: (0, 5)}),
        (topic({0: (0, 9), 1: (0, 9)}), PositionBeyondEnd, {0: (9, 10)}),
        (topic({0: (0, 20)}), PartitionsVanished, {1: (0, 5)}),
    ],
)
def test_refusals_name_the_range_and_the_remedy(
    state: TopicState, refusal: type[IngestRefused], ranges: dict[int, Any]
) -> None:
    with pytest.raises(refusal, match="Remedy: ") as caught:
        plan(stored({0: 10, 1: 5}), state)
    assert caught.value.ranges == ranges
    assert f"[{next(iter(ranges.values()))[0]}, " in str(caught.value) or refusal is PartitionsVanished


def test_declared_offsets_outside_the_log_are_refused() -> None:
    with pytest.raises(StartNotInLog):
        plan(None, topic({0: (5, 10)}), {0: 4})
    with pytest.raises(StartNotInLog):
        plan(None, topic({0: (5, 10)}), {3: 7})


def test_what_retention_took_while_it_was_read_is_named() -> None:
    planned = plan(stored({0: 3, 1: 2}), topic({0: (0, 8), 1: (0, 5)}))
    require_retained("s", planned, topic({0: (3, 9), 1: (2, 5)}))
    with pytest.raises(RetentionOvertook, match="Remedy: ") as caught:
        require_retained("s", planned, topic({0: (6, 9), 1: (7, 9)}))
    assert caught.value.ranges == {0: (3, 6), 1: (2, 5)}


@given(st.dictionaries(st.integers(0, 50), st.integers(0, 10**6), max_size=20), st.integers(0, 10**7))
def test_a_cap_is_used_fully_and_fairly(available: dict[int, int], limit: int) -> None:
    taken = share(available, limit)
    assert sum(taken.values()) == min(limit, sum(available.values()))
    assert all(0 <= taken[p] <= available[p] for p in available)
    cut_short = [taken[p] for p in available if taken[p] < available[p]]
    assert not cut_short or max(taken.values()) - min(cut_short) <= len(available)


def given_up(ends: dict[int, int], ranges: dict[int, list[tuple[int, int]]], topic: str = "i") -> KafkaStatement:
    return replace(stored(ends), losses=(AcceptedLoss(topic, ranges, "because", "run", 0),))


def test_a_run_reads_up_to_what_was_given_up_and_steps_over_it() -> None:
    previous = given_up({0: 10, 1: 0, 2: 5}, {0: [(23, 25)], 2: [(5, 7)], 1: [(90, 95)]})
    planned = plan(previous, topic({0: (0, 100), 1: (0, 50), 2: (0, 40)}))
    assert planned.ranges == {0: (10, 23), 1: (0, 50)}
    assert planned.end == {0: 25, 1: 50, 2: 7}
    assert planned.skipped == {0: (23, 25), 2: (5, 7)}
    assert (planned.offsets, planned.lag_after, planned.needed) == (63, 75 + 33, True)


def test_a_run_that_does_not_get_there_steps_over_nothing() -> None:
    previous = given_up({0: 10}, {0: [(23, 25)]})
    assert plan(previous, topic({0: (0, 100)}), limit=13).end == {0: 25}
    short = plan(previous, topic({0: (0, 100)}), limit=12)
    assert (short.ranges, short.end, short.skipped) == ({0: (10, 22)}, {0: 22}, {})


def test_what_is_behind_or_in_another_log_or_not_written_yet_is_not_stepped_over() -> None:
    for previous in (
        given_up({0: 10}, {0: [(3, 10)]}),
        given_up({0: 10}, {0: [(23, 25)]}, topic="another"),
        given_up({0: 10}, {4: [(23, 25)]}),
        given_up({0: 10}, {0: [(30, 35)]}),
    ):
        planned = plan(previous, topic({0: (0, 30)}))
        assert (planned.ranges, planned.skipped) == ({0: (10, 30)}, {})


def test_new_records_of_a_log_that_was_cut_are_read_where_old_ones_were_given_up() -> None:
    ledger = (AcceptedLoss("i", {0: [(60, 70)]}, "poison", "run", 5),)
    loss = plan_loss("s", replace(stored({0: 100}), losses=ledger), topic({0: (0, 50)}), new_epoch=True)
    assert loss.statement.losses == (replace(ledger[0], past=True),), "it stays on record"
    planned = plan(loss.statement, topic({0: (0, 80)}))
    assert (planned.ranges, planned.skipped) == ({0: (50, 80)}, {})


def test_the_last_refused_of_another_log_are_none_of_this_one() -> None:
    read = replace(stored({0: 10, 1: 10}), refused_last={0: 19, 1: 7})
    another = plan_loss("s", read, topic({0: (0, 20), 1: (0, 20)}, topic="j"), new_epoch=True)
    assert another.statement.refused_last == {}
    cut = plan_loss("s", read, topic({0: (0, 6), 1: (0, 20)}), new_epoch=True)
    assert cut.statement.refused_last == {1: 7}
