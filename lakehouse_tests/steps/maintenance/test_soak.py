"""Ingest, mirrors and maintenance against each other on the same tables, with nobody waiting for anybody.

In Dagster a pool keeps them apart, for peace; here nothing does. Guarded mechanisms: what publishes first is no reason
to fail for an append, nor for a rewrite; a MERGE begins again; expiry leaves what a mirror has still to read.
"""

import json
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from lakehouse.cli import app
from lakehouse.engines.spark import spark_session
from lakehouse.orchestration.resources import Lake
from lakehouse.protocol.catalog import LakeCatalog, open_catalog
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.settings import KafkaSettings, load_settings
from lakehouse.steps.cdc.step import MirrorStep, mirror
from lakehouse.steps.ingest.ingest_step import IngestStep
from lakehouse.steps.ingest.report import IngestReport
from lakehouse.steps.ingest.step import ingest
from lakehouse.steps.maintenance.model.action import ActionOutcome, Operation
from lakehouse.steps.maintenance.rewrite.inline import compact_after
from lakehouse.steps.maintenance.step import MaintainStep, maintain
from lakehouse_tests.fixtures.broker import TopicFactory
from lakehouse_tests.orchestration.assets.house import write_conf
from lakehouse_tests.steps.maintenance.house import work_on
from lakehouse_tests.steps.maintenance.soaked import COPIED, DECLARED, LOG, MARKED, PARTITIONS, READINGS, Source
from lakehouse_tests.steps.maintenance.worker import Worker, work

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]
_PATIENCE, _MOST_ROUNDS = 300, 12
OutcomeKey = tuple[str, Operation, str]
Wanted = Sequence[tuple[str, Operation]]


@dataclass
class Soak:
    """The tables, what is sent to them, and what maintenance did.

    Attributes:
        outcomes: table, operation and result of everything that maintenance did.
        why_not: table and reason in one word → how many times a rewrite was withheld.
        warned: by the ingest's own compaction.
    """

    lake: Lake
    source: Source
    outcomes: Counter[OutcomeKey] = field(default_factory=Counter[OutcomeKey])
    why_not: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    warned: list[str] = field(default_factory=list[str])

    def catalog(self) -> LakeCatalog:
        """A client of its own for each worker, as if it were a process."""
        return open_catalog(self.lake.settings.catalog)

    def session(self) -> AbstractContextManager[SparkSession]:
        """A session in the driver that all of them share."""
        return spark_session(self.lake.settings, app_name="soak")

    def ingest(self, stream: str, catalog: LakeCatalog) -> IngestReport:
        """One run of a stream; where it is declared, it compacts afterwards."""
        declared = self.lake.declarations.streams[stream]
        attempt = Attempt(run_id=f"ingest-{stream}", step=f"ingest:{stream}")
        report = ingest(
            IngestStep(
                stream=declared,
                declarations=self.lake.declarations,
                catalog=catalog,
                kafka=self.lake.kafka,
                limits=self.lake.settings.ingest,
                session=self.session,
                attempt=attempt,
            )
        )
        for name in declared.tables:
            policy = self.lake.declarations.tables[name].maintenance
            if policy.rewrite is not None and policy.rewrite.every_commits is not None:
                maintenance_work = work_on(catalog, self.lake.declarations, name, policy, session=self.session)
                own = replace(maintenance_work, attempt=replace(attempt.again(), step=f"maintain:{name}"))
                every = policy.rewrite.every_commits
                self._tell(name, compact_after(name, lambda own=own: own, every, warn=self.warned.append))
        return report

    def mirror(self, name: str, catalog: LakeCatalog) -> bool:
        """One run of a mirror; whether there was something to do."""
        tables = self.lake.declarations.mirrors[name]
        attempt = Attempt(run_id=name, step=f"mirror:{name}")
        return mirror(MirrorStep(tables, catalog, self.session, attempt, inform=lambda _: None)).published is not None

    def maintain(self, catalog: LakeCatalog) -> bool:
        """One run of maintenance for each table; whether there was something to do."""
        busy = [name for name in sorted(self.lake.declarations.tables) if self._maintain(name, catalog)]
        return bool(busy)

    def _maintain(self, name: str, catalog: LakeCatalog) -> bool:
        report = maintain(
            MaintainStep(
                catalog=catalog,
                declarations=self.lake.declarations,
                table=self.lake.declarations.tables[name],
                session=self.session,
                attempt=Attempt(run_id="upkeep", step=f"maintain:{name}"),
                allow=True,
                under_way=[f"ingest-{stream}" for stream in self.lake.declarations.streams],
                inform=lambda _: None,
            )
        )
        report.require_well()
        for outcome in report.outcomes:
            self._tell(name, outcome)
        if report.surveyed is None:
            return False
        withheld = [entry.why for entry in report.surveyed.plan.withheld if entry.action.operation is Operation.REWRITE]
        self.why_not.update((name, why) for why in withheld)
        return not report.surveyed.plan.nothing

    def has_done(self, wanted: Wanted) -> bool:
        """Whether maintenance has done each of these at least once."""
        return all(self.outcomes[name, operation, "done"] for name, operation in wanted)

    @property
    def seen(self) -> list[str]:
        """What maintenance did, and did not, for people."""
        done = [
            f"{name} {operation}: {result} {times} times" for (name, operation, result), times in self.outcomes.items()
        ]
        withheld = [f"{name} rewrite: withheld as {why} {times} times" for (name, why), times in self.why_not.items()]
        return sorted([*done, *withheld]) + self.warned

    def _tell(self, name: str, outcome: ActionOutcome | None) -> None:
        if outcome is not None:
            self.outcomes[name, outcome.action.operation, outcome.result] += 1

    def require_whole(self, conf: Path) -> None:
        """All that was sent is there, once; the command says so, and so does a count of our own."""
        result = CliRunner().invoke(app, ["--conf", str(conf), "audit", "--json", "--scan", "--full"])
        assert result.exit_code == 0, result.output
        proven = json.loads(result.output)
        assert proven["holds"]
        assert [len(proven[kind]) for kind in ("streams", "mirrors")] == [2, 2]
        assert len([lease for lease in proven["leases"] if lease["holders"]]) == 1
        for name, places in self.source.accepted.items():
            pairs = self._column_pairs(name)
            assert (len(pairs), set(pairs)) == (len(places), places), name
        for name in (COPIED, MARKED):
            rows = self.lake.catalog.load_table(tuple(name.split("."))).scan().to_arrow()
            assert rows.num_rows == len(self.source.rows)
            assert dict(zip(rows["id"].to_pylist(), rows["name"].to_pylist(), strict=True)) == self.source.rows

    def _column_pairs(self, name: str) -> list[tuple[int, int]]:
        columns = ("_kafka_partition", "_kafka_offset")
        rows = self.lake.catalog.load_table(tuple(name.split("."))).scan(selected_fields=columns).to_arrow()
        return list(zip(*(rows[column].to_pylist() for column in columns), strict=True))


@pytest.fixture
def soak(tmp_path: Path, broker: KafkaSettings, jars: Path, topic: TopicFactory, spark: SparkSession) -> Soak:
    """A lakehouse as a user would declare it, with topics of several partitions."""
    del spark  # the driver that the sessions are opened in
    conf = write_conf(tmp_path, broker, jars)
    source = Source(broker, topic(PARTITIONS, name="things"), topic(PARTITIONS, name="readings"))
    text = DECLARED.format(changes=source.changes, readings=source.readings)
    (conf / "declarations" / "soak.py").write_text(text, encoding="utf-8")
    lake = Lake(load_settings(conf, {}))
    lake.ensure(lake.declarations.tables)
    return Soak(lake, source)


# Copies on write leave a file or two in each partition, and nothing to do.
FEW = [(LOG, Operation.REWRITE), (READINGS, Operation.REWRITE), (LOG, Operation.EXPIRE)]
ALL = [*FEW, (MARKED, Operation.REWRITE), (MARKED, Operation.EXPIRE)]
SHORT = pytest.param(10, FEW, marks=pytest.mark.timeout(900), id="short")
LONG = pytest.param(900, ALL, marks=pytest.mark.timeout(2400), id="long")


@pytest.mark.soak
@pytest.mark.parametrize(("seconds", "wanted"), [SHORT, LONG])
def test_all_at_once(soak: Soak, tmp_path: Path, seconds: int, wanted: Wanted) -> None:
    catalogs, began = [soak.catalog() for _ in range(5)], time.monotonic()
    workers = [
        Worker("source", soak.source.send, 0.3),
        Worker("ingest of changes", lambda: soak.ingest("things", catalogs[0]), 1),
        Worker("ingest of readings", lambda: soak.ingest("readings", catalogs[1]), 1),
        Worker("mirror by copy-on-write", lambda: soak.mirror(COPIED, catalogs[2]), 2),
        Worker("mirror by merge-on-read", lambda: soak.mirror(MARKED, catalogs[3]), 10),
        Worker("maintenance", lambda: soak.maintain(catalogs[4]), 1),
    ]

    def enough() -> bool:
        """On a slow machine it goes on until there was something to see."""
        took = time.monotonic() - began
        assert took < seconds + _PATIENCE, soak.seen
        return took >= seconds and soak.has_done(wanted)

    try:
        work(workers, enough)
    finally:  # also where one has failed
        print(f"\n{time.monotonic() - began:.0f} s, {soak.source.sent} records", *workers, *soak.seen, sep="\n")
    catalog = soak.catalog()
    while any(soak.ingest(name, catalog).published for name in soak.lake.declarations.streams):
        pass
    while any(soak.mirror(name, catalog) for name in (COPIED, MARKED)):
        pass
    if wanted is ALL:  # rewrites in peace could hide what was wrong before
        soak.require_whole(tmp_path / "conf")

    # In peace the rest of the work gets done, too, and all is there.
    for _ in range(_MOST_ROUNDS):
        if not soak.maintain(catalog):
            break
    else:
        raise AssertionError(f"there is always something to do: {soak.outcomes}")
    soak.require_whole(tmp_path / "conf")
