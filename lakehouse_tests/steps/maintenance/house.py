"""A changelog and everybody who may read it: a mirror, an incremental table, a release. Written without Spark."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
from pyiceberg.table import Table as IcebergTable
from pyspark.sql import SparkSession

from lakehouse.declarations import (
    Declarations,
    Derived,
    Maintenance,
    Mirror,
    MirrorTables,
    Release,
    Table,
    apply,
    plan,
)
from lakehouse.protocol.catalog import LakeCatalog, TableChange, set_branch
from lakehouse.protocol.commit import publish, seal_branch
from lakehouse.protocol.leases.lease import Lease
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.history import MAIN, ancestry, head_of
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.cdc.statement import MirrorStatement
from lakehouse.steps.maintenance.model.action import MaintenanceWork
from lakehouse.steps.maintenance.model.state import MeasuredState
from lakehouse.steps.release.step import ReleaseStep, release
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.cdc.conftest import Feed, changelog_of, upsert

LOG, MIRROR, COPY, GROUP = "changelog.things", "mirror.things", "mart.copied", "things"
FOREVER = timedelta(days=3650)


@dataclass
class House:
    """The tables, and what writes them.

    Args:
        feed: the changelog.
        declarations: of all.
    """

    feed: Feed
    declarations: Declarations

    @classmethod
    def of(cls, lake: Lake) -> "House":
        """Declare and create all."""
        log = changelog_of()
        mirror = MirrorTables(Mirror(name=MIRROR, changelog=log), log)
        columns = {
            "id": pandera.Column(T.LongType(), nullable=True),
            "runtime_date": pandera.Column(T.DateType(), nullable=False),
        }
        copied = Derived(
            table=Table(
                name=COPY,
                schema=pandera.DataFrameSchema(columns),
                description="Of a test.",
                owner="tests",
                runtime_date_column="runtime_date",
            ),
            inputs={"things": LOG},
            compute="SELECT key.id FROM things",
            mode="incremental",
            follows="things",
        )
        group = Release(name=GROUP, members=(LOG,), description="Of a test.", owner="tests")
        tables = (log.table, *mirror.tables, copied.table, group.table)
        for table in tables:
            apply(plan(table, lake.catalog), lake.catalog)
        declared = Declarations(
            tables={table.name: table for table in tables},
            streams={},
            files={},
            changelogs={LOG: log},
            mirrors={MIRROR: mirror},
            derived={COPY: copied},
            releases={GROUP: group},
        )
        return cls(Feed(lake.catalog, log), declared)

    @property
    def catalog(self) -> LakeCatalog:
        """Where all of it lives."""
        return self.feed.catalog

    @property
    def log(self) -> IcebergTable:
        """The changelog, afresh."""
        return self.catalog.load_table(tuple(LOG.split(".")))

    @property
    def head(self) -> int:
        """Where `main` of the changelog is."""
        head = head_of(self.log)
        assert head is not None
        return head

    @property
    def line(self) -> list[int]:
        """The history of the changelog's `main`, newest first."""
        table = self.log
        return [snapshot.snapshot_id for snapshot in ancestry(table, head_of(table))]

    def grow(self, times: int, rows: int = 1) -> list[int]:
        """So many runs of the ingest; their seals, oldest first."""
        return [self.feed.append([upsert(n, n) for n in range(rows)]) for _ in range(times)]

    def mirror(self, end: int, *, until: datetime | None = None, leased: bool = True) -> None:
        """A run of the mirror that has read up to a snapshot."""
        uuid = str(self.log.metadata.table_uuid)
        keys = MirrorStatement(changelog=LOG, changelog_uuid=uuid, build="b", start=None, end=end).to_keys()
        names = [table.name for table in self.declarations.mirrors[MIRROR].tables]
        self._step("mirror", names, keys, {LOG: end}, self._lease(MIRROR, end, until) if leased else None)

    def copy(self, end: int, *, until: datetime | None = None, leased: bool = True) -> None:
        """A run of the incremental table that has read up to a snapshot."""
        self._step("derive", [COPY], {}, {LOG: end}, self._lease(COPY, end, until) if leased else None)

    def release(self, run_id: str = "run") -> str:
        """Release the changelog as it is; returns the release's id."""
        attempt = Attempt(run_id, f"release:{GROUP}", root_run_id=run_id, code_version="v1")
        step = ReleaseStep(self.declarations.releases[GROUP], self.catalog, attempt, lambda *_: (), [], frozenset())
        return release(step).id

    def _lease(self, owner: str, snapshot_id: int, until: datetime | None) -> Lease:
        log = self.log
        return Lease(log.name(), str(log.metadata.table_uuid), owner, snapshot_id, until, "it reads on here")

    def _step(
        self, kind: str, names: list[str], keys: dict[str, str], read: dict[str, int], lease: Lease | None
    ) -> None:
        attempt = Attempt(run_id="run", step=f"{kind}:{names[0]}", runtime_date="2024-01-01")
        staged = [
            seal_branch(
                self.catalog,
                base,
                attempt,
                Seal.of(
                    attempt,
                    kind,
                    statement=keys,
                    previous=base.sealed.seal if base.sealed else None,
                    inputs=read,
                ),
            )
            for base in read_bases(self.catalog, names).values()
        ]
        publish(self.catalog, staged, leases=[lease] if lease else [])


def keep_on_main(house: House, **retention: int) -> None:
    """Set the retention of the reference `main`, as `ALTER TABLE … REPLACE BRANCH` does."""
    like = house.log.metadata.refs[MAIN].model_copy(update=retention)
    house.catalog.commit_tables([TableChange(house.log.name(), (), (set_branch(MAIN, house.head, like=like),))])


def days_ahead(days: float) -> datetime:
    """A time from now on."""
    return datetime.now(UTC) + timedelta(days=days)


def work_on(
    catalog: LakeCatalog,
    declarations: Declarations,
    name: str,
    policy: Maintenance,
    *,
    allow: bool = True,
    longest_run: timedelta = timedelta(0),
    messages: list[str] | None = None,
    session: Callable[[], AbstractContextManager[SparkSession]] | None = None,
) -> MaintenanceWork:
    """What an operation on a table is given; without a session, none may be asked for."""
    base = read_bases(catalog, [name])[name]
    return MaintenanceWork(
        catalog=catalog,
        declarations=declarations,
        declared=declarations.tables[name],
        base=base,
        state=MeasuredState(table=name, uuid=base.uuid, snapshot_id=base.snapshot_id, measured_at=datetime.now(UTC)),
        policy=policy,
        attempt=Attempt(run_id="upkeep", step=f"maintain:{name}"),
        session=session or _no_session,
        allow=allow,
        longest_run=longest_run,
        inform=(messages if messages is not None else []).append,
    )


def _no_session() -> AbstractContextManager[SparkSession]:
    raise AssertionError("this operation needs no Spark")
