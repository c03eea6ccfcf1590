"""Ingest, mirror and maintenance against each other on the same tables, with nobody waiting for anybody.

In Dagster a pool keeps them apart, for peace; here nothing does. Guarded mechanisms: what publishes first is no reason
to fail for an append, nor for a rewrite; a MERGE begins again; expiry leaves what a mirror has still to read.
"""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from lakehouse.audit import audit_stream
from lakehouse.catalog import open_catalog
from lakehouse.commit import Attempt
from lakehouse.maintenance.action import Operation, Outcome
from lakehouse.maintenance.consumers import can_plan
from lakehouse.maintenance.report import MaintainReport
from lakehouse.maintenance.step import MaintainStep, maintain
from lakehouse.tables import Declarations, Expire, Maintenance, Manifests, Rewrite
from lakehouse_tests.cdc.conftest import Feed, Mirrored, changelog_of, make_mirror, upsert
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn

pytestmark = [pytest.mark.spark, pytest.mark.slow]
LOG, MIRROR = "changelog.things", "mirror.things"
EAGER = Maintenance(
    rewrite=Rewrite(min_input_files=4, quiet_for=timedelta(0)),
    manifests=Manifests(min_count=8),
    expire=Expire(max_snapshot_age=timedelta(milliseconds=1), min_snapshots_to_keep=5, max_snapshots=30, at_least=10),
    orphans=None,
)
KEYS, PER_COMMIT = 100, 5
_PATIENCE, _MOST_ROUNDS = 300, 12


@dataclass
class Worker:
    """Does something again and again, until it is told to stop or it fails."""

    do: Callable[[], None]
    pause: float
    stop: threading.Event
    times: int = 0
    error: BaseException | None = None
    thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            while not self.stop.is_set():
                self.do()
                self.times += 1
                self.stop.wait(self.pause)
        except BaseException as error:  # noqa: BLE001 - the test raises it
            self.error = error
            self.stop.set()


@dataclass
class Soak:
    """The tables, what was sent, and what maintenance did."""

    lake: Lake
    things: Mirrored
    declarations: Declarations
    newest: dict[int, str] = field(default_factory=dict[int, str])
    sent: int = 0
    done: Counter[tuple[str, Operation, str]] = field(default_factory=Counter[tuple[str, Operation, str]])

    @classmethod
    def create(cls, lake: Lake, spark_on: SparkOn) -> "Soak":
        things = make_mirror(lake, spark_on, changelog_of(maintenance=EAGER), maintenance=EAGER)
        tables = {table.name: table for table in (things.feed.log.table, *things.tables.tables)}
        declarations = Declarations(tables, {}, {}, {LOG: things.feed.log}, {MIRROR: things.tables})
        return cls(lake, things, declarations)

    def ingest(self, feed: Feed) -> None:
        """One run of the stream: some keys change."""
        chosen = random.Random(self.sent).sample(range(KEYS), PER_COMMIT)
        told = {key: f"v{self.sent + place}" for place, key in enumerate(chosen)}
        feed.append([upsert(key, self.sent + place, name=told[key]) for place, key in enumerate(chosen)])
        self.newest |= told
        self.sent += PER_COMMIT

    def maintain(self, name: str) -> MaintainReport:
        """One run of maintenance."""
        report = maintain(
            MaintainStep(
                catalog=open_catalog(self.lake.settings),
                declarations=self.declarations,
                table=self.declarations.tables[name],
                session=lambda: self.things.spark_on(self.lake.settings),
                attempt=Attempt(run_id="upkeep", step=f"maintain:{name}"),
                allow=True,
                inform=lambda _: None,
            )
        )
        report.require_well()
        self.done.update(self._told(name, outcome) for outcome in report.outcomes)
        return report

    def _told(self, name: str, outcome: Outcome) -> tuple[str, Operation, str]:
        return name, outcome.action.operation, outcome.result

    def maintain_all(self) -> None:
        """The changelog and the mirror."""
        for name in (LOG, MIRROR):
            self.maintain(name)

    def require_whole(self) -> None:
        """Nothing is lost or doubled, in the changelog or in the mirror."""
        proof = audit_stream(self.lake.catalog, "things", [LOG])
        assert proof.holds, proof.findings
        scanned = audit_stream(self.lake.catalog, "things", [LOG], scan=True)
        assert scanned.holds, scanned.findings
        assert sum(one.rows for one in scanned.ranges) == self.sent
        assert can_plan(self.lake.catalog, self.declarations, LOG) == ()


SHORT = 40
LONG = pytest.param(900, marks=[pytest.mark.soak, pytest.mark.timeout(1800)])


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seconds", [SHORT, LONG])
def test_all_at_once(sql_lake: Lake, spark_on: SparkOn, seconds: int) -> None:
    soak = Soak.create(sql_lake, spark_on)
    feed = Feed(open_catalog(sql_lake.settings), soak.things.feed.log)
    soak.ingest(feed)
    soak.things.run()
    stop = threading.Event()
    ingest = Worker(lambda: soak.ingest(feed), 0.1, stop)
    mirror = Worker(lambda: soak.things.run() and None, 0.5, stop)
    upkeep = Worker(soak.maintain_all, 0.5, stop)
    began = time.monotonic()
    # On a slow machine it goes on until there was something to see.
    enough = (LOG, Operation.REWRITE, "done")
    while not stop.is_set() and (time.monotonic() < began + seconds or soak.done[enough] < 2):
        stop.wait(0.5)
        assert time.monotonic() < began + seconds + _PATIENCE, soak.done
    stop.set()
    for worker in (ingest, mirror, upkeep):
        worker.thread.join(_PATIENCE)
        if worker.error is not None:
            raise worker.error
    soak.require_whole()
    soak.things.run()
    assert {key: row[0] for key, row in soak.things.rows("name").items()} == soak.newest
    soak.things.agree()

    # In peace the rest of the work gets done, too, and all is there as before.
    for _ in range(_MOST_ROUNDS):
        if all(soak.maintain(name).found.plan.nothing for name in (LOG, MIRROR)):  # type: ignore[union-attr]
            break
    else:
        raise AssertionError(f"there is always something to do: {soak.done}")
    soak.require_whole()
    assert {key: row[0] for key, row in soak.things.rows("name").items()} == soak.newest
    files = len(list(soak.things.load(LOG).scan().plan_files()))
    assert files < 4 < ingest.times
    said = {f"{name} {operation}: {result}": times for (name, operation, result), times in sorted(soak.done.items())}
    print(f"{ingest.times} ingests, {mirror.times} runs of the mirror, {upkeep.times} of maintenance: {said}")
    assert soak.done[LOG, Operation.EXPIRE, "done"] >= 1
