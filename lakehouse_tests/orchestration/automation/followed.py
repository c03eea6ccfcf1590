"""Tables that follow each other, with stand-ins for what computes them: only what Dagster asks for is looked at."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

import dagster as dg
import pytest
from dagster._core.definitions.automation_tick_evaluation_context import build_run_requests
from pyspark.sql.types import DateType, LongType, StringType

from lakehouse.declarations import ByMonth, Column, Declarations, Derived, Partitions, Release, Table
from lakehouse.orchestration.assets.derived import partitions_definition
from lakehouse.orchestration.automation.derived_conditions import follow_release, following, following_sensor
from lakehouse.orchestration.automation.interrupted_condition import FOLLOWING_TAG

ASKED = {FOLLOWING_TAG: "true"}  # what the sensor puts on the runs that it asks for
_COLUMNS = (
    Column("n", LongType(), required=False),
    Column("part", StringType(), required=False),
    Column("day", DateType(), required=True),
)


def derived(name: str, *inputs: str, partitions: Partitions | None = None) -> Derived:
    """A table that is computed from others."""
    table = Table(
        name=f"features.{name}",
        schema=_COLUMNS,
        description="A feature.",
        owner="us",
        write_mode="overwrite",
        runtime_date_column="day",
        partitioning=()
        if partitions is None
        else (f"month({partitions.column})",)
        if isinstance(partitions, ByMonth)
        else (partitions.column,),
    )
    return Derived(
        table=table,
        inputs={f"i{number}": given for number, given in enumerate(inputs)},
        compute="SELECT 1",
        partitions=partitions,
    )


def release(*members: str) -> Release:
    """A release of some tables."""
    return Release(name="marts", members=members, description="Marts.", owner="us")


@dataclass
class Followed:
    """Raw tables, derived tables and releases.

    Attributes:
        failing: tables whose blocking check fails.
        broken: tables whose step fails.
        made: what was computed, in order.
        partitions: of each run that the last look asked for.
    """

    instance: dg.DagsterInstance
    declared: Sequence[Derived]
    releases: Sequence[Release] = ()
    failing: set[str] = field(default_factory=set[str])
    broken: set[str] = field(default_factory=set[str])
    made: list[str] = field(default_factory=list[str])
    partitions: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    _cursor: Any = None

    @cached_property
    def declarations(self) -> Declarations:
        """What is declared."""
        derived = {table.name: table for table in self.declared}
        tables = {name: table.table for name, table in derived.items()}
        return Declarations(
            tables, {}, {}, derived=derived, releases={release.name: release for release in self.releases}
        )

    @cached_property
    def raw(self) -> list[str]:
        """Tables that something else writes."""
        given = (name for table in self.declared for name in table.inputs.values())
        members = (member for release in self.releases for member in release.members)
        return sorted({name for name in (*given, *members) if name not in self.declarations.derived})

    @cached_property
    def defs(self) -> dg.Definitions:
        """An asset and a blocking check for each table, and the sensor."""
        partitions = {table.name: table.partitions for table in self.declared}
        names = [*self.raw, *partitions]
        sensor = following_sensor(self.declarations)
        return dg.Definitions(
            assets=[
                *(self._asset(name) for name in self.raw),
                *(
                    self._asset(
                        table.name, [*table.inputs.values()], following(table, self.declarations), table.partitions
                    )
                    for table in self.declared
                ),
                *(
                    self._asset(release.pointer, release.members, follow_release(release, self.declarations))
                    for release in self.releases
                ),
            ],
            asset_checks=[self._check(name) for name in names],
            sensors=[sensor] if sensor else [],
            executor=dg.in_process_executor,
        )

    def _asset(
        self, name: str, deps: Sequence[str] = (), condition: Any = None, partitions: Partitions | None = None
    ) -> dg.AssetsDefinition:
        parted = {table.name for table in self.declared if table.partitions}

        @dg.asset(
            key=name.split("."),
            deps=[
                dg.AssetDep(
                    dg.AssetKey(d.split(".")), partition_mapping=dg.AllPartitionMapping() if d in parted else None
                )
                for d in deps
            ],
            automation_condition=condition,
            partitions_def=partitions_definition(partitions) if partitions else None,
        )
        def made() -> None:
            if name in self.broken:
                raise ValueError(name)
            self.made.append(name)

        return made

    def _check(self, name: str) -> dg.AssetChecksDefinition:
        @dg.asset_check(asset=name.split("."), blocking=True, name="holds")
        def holds() -> dg.AssetCheckResult:
            return dg.AssetCheckResult(passed=name not in self.failing)

        return holds

    def write(
        self, *names: str, partitions: Sequence[str] = (), tags: Mapping[str, str] | None = None
    ) -> dg.ExecuteInProcessResult:
        """Run the assets of some tables, with their checks."""
        tags = dict(tags or {})
        if partitions:
            tags |= {
                "dagster/asset_partition_range_start": partitions[0],
                "dagster/asset_partition_range_end": partitions[-1],
            }
        return self.defs.resolve_implicit_global_asset_job_def().execute_in_process(
            instance=self.instance,
            raise_on_error=False,
            asset_selection=[dg.AssetKey(name.split(".")) for name in names],
            tags=tags,
        )

    @contextmanager
    def running(self, *names: str, tags: Mapping[str, str] | None = None) -> Generator[dg.DagsterRun]:
        """A run of some tables that is under way, and is canceled at the end unless it has ended otherwise."""
        keys = {dg.AssetKey(name.split(".")) for name in names}
        job = self.defs.resolve_implicit_global_asset_job_def().get_subset(asset_selection=keys)
        run = self.instance.create_run_for_job(job, asset_selection=frozenset(keys), tags=tags)
        self.instance.report_dagster_event(_started(run), run.run_id)
        yield run
        record = self.instance.get_run_by_id(run.run_id)
        if record is not None and not record.is_finished:
            self.instance.report_run_canceled(record)

    def look(self, *, later: timedelta = timedelta()) -> list[set[str]]:
        """Evaluate all conditions once; the runs that Dagster would launch, each as its tables.

        Args:
            later: how much later than now the look is taken for.
        """
        result = dg.evaluate_automation_conditions(
            self.defs,
            self.instance,
            asset_selection=dg.AssetSelection.all(),
            evaluation_time=datetime.now(UTC) + later,
            cursor=self._cursor,
        )
        self._cursor = result.cursor
        subsets = [evaluation.true_subset for evaluation in result.results if not evaluation.true_subset.is_empty]
        requests = build_run_requests(subsets, self.defs.resolve_asset_graph(), {}, emit_backfills=True)
        self.partitions, asked = [], list[set[str]]()
        for request in requests:
            if request.asset_graph_subset is None:
                asked.append({_name(key) for key in request.asset_selection or ()})
                self.partitions.append(())
            else:  # a backfill, which the tables' policy makes one run
                parts = request.asset_graph_subset.partitions_subsets_by_asset_key
                asked.append({_name(key) for key in parts})
                self.partitions.append(
                    tuple(sorted(key for part in parts.values() for key in part.get_partition_keys()))
                )
        return asked

    def follow(self, *, later: timedelta = timedelta()) -> list[set[str]]:
        """Look, and run what is asked for."""
        asked = self.look(later=later)
        for names, partitions in zip(asked, self.partitions, strict=True):
            self.write(*names, partitions=partitions, tags=ASKED)
        return asked


def _name(key: dg.AssetKey) -> str:
    return ".".join(key.path)


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """A Dagster instance of the test's own."""
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


def _started(run: dg.DagsterRun) -> dg.DagsterEvent:
    return dg.DagsterEvent(dg.DagsterEventType.RUN_START.value, run.job_name)


FEATURES = (
    derived("delays", "raw.flights"),
    derived("weather", "raw.weather"),
    derived("joined", "features.delays", "features.weather"),
    derived("fleet", "raw.flights", "raw.planes"),
    derived("training", "features.joined", "features.fleet"),
)
ALL = {feature.name for feature in FEATURES}
