"""A lakehouse under everything at once, in any order that chance gives: its books must balance after every step.

Attempts are staged and published when they like, also twins, also long after; operators set tables back and forward,
alone or together; files are rewritten, snapshots expire, branches are removed; clocks jump; answers are lost; processes
die. After each step the tables hold every record up to the position of the test's own books, once. What is refused has
changed nothing, and what nothing stands against is not refused.
"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule
from pyiceberg.exceptions import CommitStateUnknownException

from lakehouse.declarations import Expire
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.cleanup.housekeeping import abandoned_branches, drop_branch
from lakehouse.protocol.commit import Staged, publish, stage_replacement
from lakehouse.protocol.errors import CommitError
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.ingest.refusals import IngestRefused
from lakehouse.steps.maintenance.expire.expire import CannotExpire, expire
from lakehouse_tests.faults.books import Book, Content
from lakehouse_tests.faults.doomed_ingest import POINTS, TRANSACTIONS, Doom, DoomedIngest, clock_ahead, run, to_both
from lakehouse_tests.faults.offsets_oracle import OffsetsOracle, Position
from lakehouse_tests.faults.rewriting import merged_files
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.proofs.audit.simulated import QUARANTINE, A, B, SimulatedStream
from lakehouse_tests.protocol.commit.children import Child

TABLES = (A, B)
SKEW_MS, SLACK_MS = 60_000, 10_000
SMALL = Expire(min_snapshots_to_keep=2, max_snapshots=4, at_least=1, max_snapshot_age=timedelta(days=2))
SECOND_NS = 10**9
COMES, LOST, NOT_DONE, TWIN_FIRST = ANSWERS = ("comes", "is lost", "is lost, undone", "comes after a twin's")
JUMPS = {"90 s back": -90 * SECOND_NS, "90 s on": 90 * SECOND_NS, "a day on": 86_400 * SECOND_NS}


@dataclass
class Pending:
    """An attempt that is staged, and may be published whenever somebody likes.

    Args:
        end: the position after it; None for a rewrite, which leaves it where it is.
        landed: whether it has been published.
    """

    name: str
    staged: list[Staged]
    contents: dict[str, Content]
    end: Position | None
    landed: bool = False


class LakeMachine(RuleBasedStateMachine):
    """A stream of two tables on an embedded catalog of its own."""

    attempts: Bundle[Pending] = Bundle("attempts")

    def __init__(self) -> None:
        super().__init__()
        self.ahead_ns, self.names = 0, iter(range(10**6))
        self.exits = ExitStack()
        folder = Path(self.exits.enter_context(tempfile.TemporaryDirectory(prefix="lake-machine-")))
        self.exits.enter_context(clock_ahead(lambda: self.ahead_ns))
        patch = self.exits.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(sys.modules[publish.__module__], "pause", lambda _: None)
        self.settings = sql_settings(folder)
        self.catalog = open_catalog(self.settings)
        self.exits.callback(self.catalog.close)
        self.stream = SimulatedStream(self.catalog, out=frozenset({QUARANTINE}))
        self.oracle = OffsetsOracle(self.settings.uri, self.settings.warehouse)
        self.exits.callback(self.oracle.close)
        self.books = {A: Book((1, 2)), B: Book((0,))}

    def teardown(self) -> None:
        """Leave nothing."""
        self.exits.close()

    # What happens in any lakehouse.

    @initialize()
    def something_is_there(self) -> None:
        """The first commit of all has its own tests: most examples begin with one."""
        self.arrive(0, 4)
        self.run_whole()

    @rule(partition=st.integers(0, 1), count=st.integers(1, 4))
    def arrive(self, partition: int, count: int) -> None:
        """Records come to the topic."""
        self.stream.ends[partition] += count

    @rule(target=attempts)
    def stage(self) -> Any:
        """A run reads all that is there, and seals it; it may be published by another rule."""
        contents = {name: book.content for name, book in self.books.items()}
        try:
            staged = self.stream.stage({}, to_both)
        except IngestRefused:
            assert self._caught_up() != contents, "tables that stand at one position were refused"
            return multiple()
        for name, content in self._caught_up().items():
            lacking = self.books[name].records(content) - self.books[name].records()
            assert not lacking, f"{name} was set back and lacks {lacking}, and nobody minds"
        return Pending(f"ingest {next(self.names)}", staged, contents, dict(self.stream.ends))

    @rule(attempt=attempts, answer=st.sampled_from(ANSWERS))
    def publish(self, attempt: Pending, answer: str = COMES) -> None:
        """Any attempt is published, for the first time or again, whatever has happened meanwhile."""
        must = answer != TWIN_FIRST and self._must_publish(attempt)
        refusal: CommitError | None = None
        try:
            with self._answer(answer):
                publish(self.catalog, attempt.staged)
        except CommitError as error:
            refusal = error
        assert not (must and refusal), f"{attempt.name} was refused: {refusal}"
        if refusal:
            return
        against = self._must_not_publish(attempt)
        assert not against, f"{attempt.name} was published: {against}"
        if attempt.landed:
            return
        attempt.landed = True
        before = self._caught_up()
        for name in self._names(attempt):
            book = self.books[name]
            landed = book.content if attempt.end is None else before[name].after(attempt.name, attempt.end)
            book.moved(self.oracle.head(name), landed)

    @rule(attempt=attempts, count=st.integers(0, 3))
    def publish_after_a_twin(self, attempt: Pending, count: int) -> None:
        """Between the look of an attempt and its transaction, a run that has read as much or more is quicker."""
        self.arrive(0, count)
        self.publish(attempt, TWIN_FIRST)

    @rule(count=st.integers(0, 3), answer=st.sampled_from(ANSWERS))
    def run_whole(self, count: int = 0, answer: str = COMES) -> None:
        """A run that nothing comes between but at the last moment; so many records have arrived before it."""
        self.arrive(0, count)
        attempt = self.stage()
        if isinstance(attempt, Pending):
            self.publish(attempt, answer)

    @rule(name=st.sampled_from(TABLES), target=attempts)
    def rewrite(self, name: str) -> Any:
        """Maintenance writes all files of a table as one, and leaves it on its branch; another rule publishes it."""
        base = read_bases(self.catalog, [name])[name]
        if base.snapshot_id is None:
            return multiple()
        attempt = Attempt(run_id="maintenance", step=f"maintain:{name}")
        staged = stage_replacement(self.catalog, base, attempt, merged_files(self.stream, base))
        return Pending(f"rewrite {next(self.names)}", [staged], {name: self.books[name].content}, None)

    @rule(name=st.sampled_from(TABLES))
    def expire(self, name: str) -> None:
        """Old snapshots go, with the files that only they reach."""
        rewrites = any("maintain" in branch for branch in self.oracle.branches(name))
        try:
            expire(self.catalog, self.stream.declarations, name, SMALL, now=self._now())
        except CannotExpire:
            assert rewrites, "expiry was refused, and no rewrite is on its way"

    @rule(name=st.sampled_from(TABLES))
    def remove_branches(self, name: str) -> None:
        """Housekeeping removes what no attempt will publish any more."""
        for branch in abandoned_branches(self.stream.load(name)):
            drop_branch(self.catalog, branch)

    # What people and machines do to it.

    @rule(name=st.sampled_from(TABLES), choice=st.integers(0, 50))
    def set_alone(self, name: str, choice: int) -> None:
        """An operator sets one table to any state that it was in: back, or forward again."""
        states = [head for head in self.books[name].states if head in self.oracle.snapshot_ids(name)]
        if states:
            self._set(name, states[choice % len(states)])

    @rule(choice=st.integers(0, 50))
    def set_together(self, choice: int) -> None:
        """An operator sets both tables to a state that they were in after the same publishes."""
        states = {
            name: {
                content.publishes: head
                for head, content in book.states.items()
                if head in self.oracle.snapshot_ids(name)
            }
            for name, book in self.books.items()
        }
        both = [publishes for publishes in states[A] if publishes in states[B]]
        if both:
            for name in TABLES:
                self._set(name, states[name][both[choice % len(both)]])

    @rule(jump=st.sampled_from(sorted(JUMPS)))
    def set_clock(self, jump: str) -> None:
        """The clock of this machine and of its disk jumps."""
        self.ahead_ns += JUMPS[jump]

    @rule(
        doom=st.one_of(
            st.sampled_from(POINTS).map(Doom),
            st.builds(Doom, st.sampled_from(TRANSACTIONS), st.integers(1, 6)),
        )
    )
    def die(self, doom: Doom) -> None:
        """An ingest in a process of its own is killed somewhere, or gets through: it is there whole, or not at all."""
        heads = {name: self.oracle.head(name) for name in TABLES}
        work = DoomedIngest(self.settings, dict(self.stream.ends), doom, self.ahead_ns)
        with Child(work, run) as child:  # type: ignore[arg-type]
            child.exit_code()
        moved = {name for name in TABLES if self.oracle.head(name) != heads[name]}
        assert moved in (set(), set(TABLES)), f"killed at {doom}, only {moved} moved"
        publish_name, before = f"ingest {next(self.names)}", self._caught_up()
        for name in moved:
            self.books[name].moved(self.oracle.head(name), before[name].after(publish_name, self.stream.ends))

    # What has to be true.

    @invariant()
    def every_record_is_there_once(self) -> None:
        """The heart of it."""
        for name, book in self.books.items():
            assert self.oracle.head(name) in book.states, f"{name} is at a snapshot that nobody has put there"
            stored, needed = self.oracle.records(name), book.records()
            assert stored == needed, f"{name}: {stored - needed} too many, {needed - stored} missing"

    @rule(name=st.sampled_from(TABLES), choice=st.integers(0, 50))
    def look_back(self, name: str, choice: int) -> None:
        """A snapshot that the metadata name can be read, and is what it was."""
        book, ids = self.books[name], self.oracle.snapshot_ids(name)
        states = [(head, content) for head, content in book.states.items() if head is not None and head in ids]
        if states:
            head, content = states[choice % len(states)]
            assert self.oracle.records(name, head) == book.records(content)

    @rule()
    def end_well(self) -> None:
        """Once clocks are right and the tables stand together, the next run completes, and the audit holds."""
        latest = max(self.oracle.updated_ms(name) for name in TABLES)
        self.ahead_ns += max(0, latest - self._now_ms()) * 1_000_000
        if self.books[A].content.publishes != self.books[B].content.publishes:
            self.set_together(0)
        if self.books[A].content.publishes != self.books[B].content.publishes:
            return  # the last state that both had is gone: a person has to make one anew
        self.run_whole()
        for name, book in self.books.items():
            assert book.content.position == self.stream.ends, f"{name} did not come to the end"
        proof = self.stream.audit(scan=True)
        assert proof.holds, proof.findings

    # How it is judged.

    def _caught_up(self) -> dict[str, Content]:
        """What each table holds, where one behind the other counts as come as far: it may be, lacking nothing."""
        furthest = max((book.content for book in self.books.values()), key=lambda c: sum(c.position.values()))
        return {
            name: book.content if book.content.position == furthest.position else furthest
            for name, book in self.books.items()
        }

    def _must_publish(self, attempt: Pending) -> bool:
        """Whether nothing stands against an attempt: base, branch and clock are as they were."""
        for item in attempt.staged:
            name = item.base.name
            if self.oracle.branches(name).get(item.branch) != item.head or self._behind_ms(name) > SKEW_MS - SLACK_MS:
                return False
            if attempt.end is None:  # another rewrite may have taken its files
                undisturbed = self.oracle.head(name) == item.base.snapshot_id
            else:
                undisturbed = self.books[name].content == attempt.contents[name]
                undisturbed &= item.base.snapshot_id in self.oracle.ancestry(name)
            if not undisturbed:
                return False
        return True

    def _must_not_publish(self, attempt: Pending) -> str:
        """Why an attempt must not be published, or nothing."""
        for name in self._names(attempt):
            content = self.books[name].content
            if attempt.landed:
                if attempt.end is not None and attempt.name not in content.publishes:
                    return "it was taken back"
            elif attempt.end is not None and content.position != attempt.contents[name].position:
                return "the table stands elsewhere"
            elif self._behind_ms(name) > SKEW_MS + SLACK_MS:
                return "the table is ahead of the clock"
        return ""

    def _names(self, attempt: Pending) -> list[str]:
        return [item.base.name for item in attempt.staged]

    def _behind_ms(self, name: str) -> int:
        return self.oracle.updated_ms(name) - self._now_ms()

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._now_ms() / 1000, UTC)

    def _now_ms(self) -> int:
        return int(datetime.now(UTC).timestamp() * 1000) + self.ahead_ns // 1_000_000

    def _set(self, name: str, head: int | None) -> None:
        assert head is not None
        if self.oracle.head(name) != head:
            self.stream.load(name).manage_snapshots().set_current_snapshot(head).commit()
        self.books[name].moved(head, self.books[name].states[head])

    @contextmanager
    def _answer(self, answer: str) -> Iterator[None]:
        """What becomes of the next transaction."""
        commit, answers = self.catalog.commit_tables, iter([answer])

        def send(changes: Any) -> None:
            this = next(answers, COMES)
            if this == TWIN_FIRST:
                self.run_whole()
            if this != NOT_DONE:
                commit(changes)
            if this in (LOST, NOT_DONE):
                raise CommitStateUnknownException("The catalog did not answer")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.catalog, "commit_tables", send)
            yield
