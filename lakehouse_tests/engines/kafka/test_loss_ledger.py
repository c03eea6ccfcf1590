"""What was given up: joined, ahead of a position, and kept when a stream begins anew."""

import pytest

from lakehouse.engines.kafka.loss_ledger import (
    AcceptedLoss,
    Range,
    accepted_ranges,
    is_accepted,
    next_accepted,
    reached,
)
from lakehouse.engines.kafka.statement import KafkaStatement


def given_up(*spans: Range, partition: int = 0, topic: str = "i") -> AcceptedLoss:
    return AcceptedLoss(topic, {partition: list(spans)}, "because", "run", 5)


def test_ranges_that_overlap_or_touch_are_one() -> None:
    ledger = [given_up((10, 20), (40, 50)), given_up((20, 25)), given_up((5, 12)), given_up((3, 4), topic="another")]
    assert accepted_ranges(ledger, {"i"}) == {0: [(5, 25), (40, 50)]}


@pytest.mark.parametrize(
    ("position", "ahead"),
    [(0, (10, 20)), (10, (10, 20)), (13, (13, 20)), (20, (40, 50)), (49, (49, 50)), (50, None)],
)
def test_the_nearest_range_ahead_of_a_position(position: int, ahead: Range | None) -> None:
    ledger = [given_up((40, 50)), given_up((10, 20)), given_up((0, 99), partition=7)]
    assert next_accepted(ledger, {"i"}, {0: position}) == ({0: ahead} if ahead else {})


def test_what_was_not_reached_goes_where_a_stream_begins_anew() -> None:
    ledger = (given_up((10, 20), (40, 50)), given_up((60, 70)), given_up((80, 90), topic="another"))
    kept = reached(ledger, {"i"}, {0: 45})
    assert [loss.ranges for loss in kept] == [{0: [(10, 20), (40, 45)]}, {0: [(80, 90)]}]
    assert {(loss.reason, loss.run_id, loss.accepted_at_ms) for loss in kept} == {("because", "run", 5)}


def test_what_was_lost_is_in_the_ledger_or_not() -> None:
    ledger = [given_up((10, 20)), given_up((20, 30))]
    assert is_accepted(ledger, {"i"}, {0: [(15, 25)]})
    assert is_accepted(ledger, {"i"}, {})
    for topic, lost in (("i", {0: [(15, 31)]}), ("i", {1: [(15, 16)]}), ("another", {0: [(15, 16)]})):
        assert not is_accepted(ledger, {topic}, lost)


def test_every_seal_repeats_it() -> None:
    first = KafkaStatement("c", "t", "i", {0: 0}, {0: 9}, losses=(given_up((10, 20)),)).after(None)
    second = KafkaStatement("c", "t", "i", {0: 9}, {0: 30}, losses=(given_up((40, 41)),)).after(first)
    assert KafkaStatement.from_keys(second.to_keys()) == second
    assert [loss.ranges for loss in second.losses] == [{0: [(10, 20)]}, {0: [(40, 41)]}]
