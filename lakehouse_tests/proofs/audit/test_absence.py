"""A table that was taken out of its stream and is put back: it joins if it lost nothing, and what it missed is named.

Guarded mechanism: what the siblings' seals say of a table has to be what its own newest seal says.
"""

from dataclasses import replace

import pytest

from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.tally import Tally
from lakehouse.proofs.audit.absence import joined_key
from lakehouse.proofs.audit.chain import Link
from lakehouse.proofs.audit.chain_findings import judge_chain
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.history import Sealed, head_of
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.ingest.refusals import PositionsDiffer
from lakehouse_tests.proofs.audit.simulated import B, SimulatedStream, to_a


def without_b(events: SimulatedStream, count: int) -> None:
    """So many records arrive while B is taken out of the stream."""
    events.out = frozenset({B})
    events.ingest({0: count}, to_a)
    events.out = frozenset()


def test_a_table_that_comes_back_joins_at_the_streams_position(events: SimulatedStream) -> None:
    events.ingest({0: 20})
    without_b(events, 5)
    waiting = events.audit()
    assert waiting.holds, waiting.findings
    assert [str(absence) for absence in waiting.absent] == [
        "raw.b was out of the stream in partition 0 offsets [20, 25)"
    ]
    events.ingest({0: 10, 1: 3})
    events.ingest({0: 1})
    for scan in (False, True):
        proof = events.audit(scan=scan)
        assert proof.holds, proof.findings
        assert proof.absent == waiting.absent
        assert (proof.read, proof.invisible) == (39, 0)


def test_a_table_that_was_rolled_back_while_it_was_out_does_not_join(events: SimulatedStream) -> None:
    events.ingest({0: 20})
    first = head_of(events.load(B))
    assert first
    events.ingest({0: 20})
    without_b(events, 5)
    events.load(B).manage_snapshots().set_current_snapshot(first).commit()
    with pytest.raises(PositionsDiffer, match=B):
        events.ingest({})
    assert {finding.kind for finding in events.audit().findings} >= {"rolled_back"}


def test_who_was_out_is_believed_only_as_far_as_its_own_rows_go(events: SimulatedStream) -> None:
    """A seal that leaves offsets out and says that its table was away, but counts rows of them as its own."""
    events.ingest({0: 20})
    base = read_bases(events.catalog, events.tables)[B]
    assert base.sealed
    stated = KafkaStatement.from_keys(base.sealed.seal.statement)
    assert stated
    own = KafkaStatement("cluster-id", "events", "topic-id", {0: 25, 1: 0}, {0: 25, 1: 0}).after(stated)
    more = replace(own, totals={**own.totals, B: {0: own.totals[B][0] + Tally.of_range(20, 25)}})
    kinds: list[set[str]] = []
    for statement in (own, more):
        keys = statement.to_keys() | joined_key({0: (20, 25), 1: (0, 0)})
        seal = Seal("ingest", "r", "s", "a", statement=keys, previous=base.sealed.seal.digest)
        links = [Link(base.sealed, stated), Link(Sealed(99, 0, seal), statement)]
        kinds.append({finding.kind for finding in judge_chain(B, links)})
    assert kinds == [set(), {"balance"}]
