"""What a chain of seals has to keep, a case each, on seals alone.

Guarded mechanisms: each seal goes on where the one before ended, and counts what it read. Every way to tamper is in
`test_tampering`.
"""

from dataclasses import replace

import pytest

from lakehouse.engines.kafka.loss_ledger import AcceptedLoss
from lakehouse.engines.kafka.statement import DUPLICATE, LOST, Counts, KafkaStatement
from lakehouse.engines.kafka.tally import Tally
from lakehouse.proofs.audit.chain import Link
from lakehouse.proofs.audit.chain_findings import judge_chain
from lakehouse.protocol.seals.history import Sealed
from lakehouse.protocol.seals.seal import Seal
from lakehouse_tests.proofs.audit.simulated import A


def linked(before: Link | None, start: int, end: int) -> Link:
    """The seal of a run that has read a range of one partition."""
    counts = Counts(read=end - start, written=end - start)
    own = KafkaStatement("c", "events", "t", {0: start}, {0: end}, {A: {0: Tally.of_range(start, end)}}, counts=counts)
    statement = own.after(before.statement if before else None)
    previous = before.sealed.seal.digest if before else ""
    seal = Seal("ingest", f"run-{start}", "ingest:events", "a", statement=statement.to_keys(), previous=previous)
    return Link(Sealed(start + 1, 0, seal), statement)


def kinds(*links: Link) -> set[str]:
    return {finding.kind for finding in judge_chain(A, links)}


def test_a_chain_without_a_break() -> None:
    first = linked(None, 0, 10)
    assert kinds(first, linked(first, 10, 20)) == set()


@pytest.mark.parametrize(("start", "kind"), [(12, "gap"), (8, "overlap")])
def test_a_range_that_does_not_go_on(start: int, kind: str) -> None:
    first = linked(None, 0, 10)
    assert kinds(first, linked(first, start, 20)) == {kind}


def test_a_seal_that_was_taken_out() -> None:
    first = linked(None, 0, 10)
    second = linked(first, 10, 20)
    assert kinds(first, linked(second, 20, 30)) == {"chain_broken", "gap", "balance"}


def test_a_seal_that_counts_others_than_it_has_read() -> None:
    seal = linked(None, 0, 10)
    assert kinds(replace(seal, statement=replace(seal.statement, counts=Counts(read=9, written=9)))) == {"balance"}


@pytest.mark.parametrize(
    ("without", "because", "wrong"),
    [({}, "", True), ({0: 2}, "compaction", True), ({0: 3}, "compaction", False), ({0: 3}, "", True)],
)
def test_a_seal_that_says_how_many_offsets_had_no_record(without: dict[int, int], because: str, *, wrong: bool) -> None:
    seal = linked(None, 0, 10)
    fewer = {A: {0: Tally.of_range(0, 7)}}
    counts = Counts(read=7, written=7)
    statement = replace(seal.statement, tallies=fewer, counts=counts, without_record=without, because=because)
    assert kinds(replace(seal, statement=statement)) == ({"balance"} if wrong else set())


def test_rows_that_go_after_a_run_that_found_no_record_at_some_offsets() -> None:
    read = linked(None, 0, 10)
    counts, tallies = Counts(read=7, written=7), {A: {0: Tally.of_range(0, 7)}}
    statement = replace(
        read.statement, tallies=tallies, totals=tallies, counts=counts, without_record={0: 3}, because="compaction"
    )
    first = replace(read, statement=statement)
    gone = statement.without_rows(A, {0: Tally.of_range(0, 2)})
    seal = Seal("retire", "run", "retire:events", "a", statement=gone.to_keys(), previous=read.sealed.seal.digest)
    assert kinds(first, Link(Sealed(99, 0, seal), gone)) == set()
    assert (gone.end, gone.expected) == (statement.end, {A: {0: Tally.of_range(2, 7)}})


@pytest.mark.parametrize(("dropped", "tallied", "wrong"), [(3, 3, False), (3, 0, True), (0, 3, True)])
def test_what_a_declared_rule_drops_is_tallied(dropped: int, tallied: int, *, wrong: bool) -> None:
    seal = linked(None, 0, 10)
    landed = 10 - max(dropped, tallied)
    tallies = {A: {0: Tally.of_range(0, landed)}, DUPLICATE: {0: Tally.of_range(landed, landed + tallied)}}
    counts = Counts(read=landed + dropped, written=landed, filtered=dropped)
    statement = replace(seal.statement, tallies=tallies, counts=counts)
    assert kinds(replace(seal, statement=statement)) == ({"balance"} if wrong else set())


def given_up(before: Link, kind: str, *, lost: bool, accepted: bool) -> Link:
    """A seal that gives up offsets 10 to 12: with a line in the ledger, as a step says what it lost, or both."""
    span = Tally.of_range(10, 13)
    own = KafkaStatement(
        *("c", "events", "t", {0: 10}, {0: 13 if lost else 10}),
        tallies={LOST: {0: span}} if lost else {},
        lost={0: [(10, 13)]} if lost else {},
        counts=Counts(lost=3 if lost else 0),
        losses=(AcceptedLoss("t", {0: [(10, 13)]}, "because", "run", 0),) if accepted else (),
    )
    statement = own.after(before.statement)
    seal = Seal(kind, "r", "s", "a", statement=statement.to_keys(), previous=before.sealed.seal.digest)
    return Link(Sealed(99, 0, seal), statement)


def test_a_loss_that_somebody_accepted() -> None:
    first = linked(None, 0, 10)
    assert kinds(first, given_up(first, "loss", lost=True, accepted=True)) == set()
    ahead = given_up(first, "loss", lost=False, accepted=True)
    assert kinds(first, ahead, given_up(ahead, "ingest", lost=True, accepted=False)) == set()


def test_a_loss_that_nobody_accepted_and_a_ledger_that_a_step_changes() -> None:
    first = linked(None, 0, 10)
    assert kinds(first, given_up(first, "ingest", lost=True, accepted=False)) == {"balance"}
    assert kinds(first, given_up(first, "ingest", lost=False, accepted=True)) == {"balance"}
    ahead = given_up(first, "loss", lost=False, accepted=True)
    forgotten = replace(ahead, statement=replace(ahead.statement, losses=()))
    after = given_up(ahead, "ingest", lost=False, accepted=False)
    assert kinds(ahead, after) == set()
    assert kinds(ahead, replace(after, statement=forgotten.statement)) == {"balance"}


def test_a_seal_that_loses_other_offsets_than_it_counts() -> None:
    first = linked(None, 0, 10)
    loss = given_up(first, "loss", lost=True, accepted=True)
    assert kinds(replace(loss, statement=replace(loss.statement, lost={0: [(10, 12)]}))) == {"balance"}
