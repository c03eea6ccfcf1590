"""The lake as an asset sees it: tables read at one moment, written through the protocol."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from dagster import MaterializeResult
from pyspark.sql import DataFrame, SparkSession

from lakehouse.declarations import OWN_TABLES, Declarations, Table, ToNamed, load_sound
from lakehouse.engines.spark.catalog import show_table
from lakehouse.engines.spark.naming import quoted_table, rows_at
from lakehouse.orchestration.dagster_names import DagsterNames
from lakehouse.orchestration.resources.declared_tables import dated_tables, declared_table, ensure_table
from lakehouse.orchestration.resources.materialization import materialized
from lakehouse.orchestration.resources.pins.step_reads import StepReads
from lakehouse.orchestration.resources.used_parameters import ParameterUse, seals_of
from lakehouse.orchestration.resources.writing import WriteMode, WrittenByStream, write_table
from lakehouse.orchestration.run_context import StepContext, attempt_of, backfill_reason
from lakehouse.protocol.catalog import LakeCatalog, open_catalog
from lakehouse.protocol.seals.read_group import Pinned
from lakehouse.settings import KafkaSettings, Parameter, Settings
from lakehouse.steps.ingest.routes.made_tables import with_made_tables
from lakehouse.steps.release.reading import OpenRelease

if TYPE_CHECKING:
    import pandas as pd


_OWN = "write to a table of your own."


class Lake:
    """Tables, by name. `lake: dg.ResourceParam[Lake]` in an asset's signature is all it takes.

    A table of another catalog is `catalog:namespace.table`, and can be read.

    What a step reads is pinned on the first read: a table that is read twice is the same twice, and all tables of one
    stream are those of one moment. A tag keeps what is pinned until the step ends, whatever is published or expired
    meanwhile. A later write says in its seal which snapshots were read. Outside of a run (a notebook, a test) there is
    no step, and no tag.
    """

    def __init__(
        self, settings: Settings, declarations: Declarations | None = None, names: DagsterNames | None = None
    ) -> None:
        """Name the lake; nothing is opened before it is needed.

        Args:
            settings: where tables and topics are.
            declarations: what is declared; read from the settings' folders if None.
            names: how Dagster knows what is ours; as the settings say if None.
        """
        self.settings = settings
        self._names = names
        self._given = declarations
        self._reads = StepReads(lambda: self.catalog, lambda: self.declarations)

    @cached_property
    def catalog(self) -> LakeCatalog:
        """The catalog, opened on first use."""
        if self.settings.catalog.address.startswith("sqlite:"):
            self.settings.state.make()
        return open_catalog(self.settings.catalog, self.settings.other_catalogs)

    @cached_property
    def names(self) -> DagsterNames:
        """How Dagster knows what is ours."""
        return self._names or DagsterNames.of(self.settings)

    @property
    def declarations(self) -> Declarations:
        """Every declared table and stream, and the tables that streams have made because records name them."""
        if not any(isinstance(stream.route, ToNamed) for stream in self._declared.streams.values()):
            return self._declared
        return with_made_tables(self._declared, self.catalog)

    @cached_property
    def _declared(self) -> Declarations:
        settings = self.settings
        return self._given or load_sound(settings.declarations, demo=settings.demo, catalogs=settings.other_catalogs)

    @property
    def kafka(self) -> KafkaSettings:
        """How to reach Kafka."""
        return self.settings.kafka

    def declared(self, name: str) -> Table:
        """The declaration of a table.

        Raises:
            NotDeclared: there is none.
            TableStopped: its file does not load, or what it needs is declared in one that does not.
        """
        return declared_table(self.declarations, name, self.settings.declarations)

    def ensure(self, names: Iterable[str]) -> list[str]:
        """Create the tables that do not exist yet; returns their names.

        Raises:
            NotDeclared: nobody declared one of them.
            DeclarationAhead: a declaration asks for other columns than the table has.
        """
        return [name for name in names if ensure_table(self.catalog, self.declared(name))]

    def pin(self, *names: str) -> dict[str, Pinned]:
        """Hold tables at their snapshots of one moment, for the rest of the step.

        Raises:
            TableMissing: one of them does not exist.
            ReadsNeverSettled: on a REST catalog, the tables changed during every try.
            CommitFailedException: other commits came before the tags too often.
        """
        return self._reads.pin(*names)

    def arrow(self, name: str, *, columns: Sequence[str] = (), where: str | None = None) -> pa.Table:
        """A table, or some columns and rows of it, in memory.

        Args:
            name: `namespace.table`.
            columns: which; all of them if none is named.
            where: an Iceberg filter such as `month = 7 and origin = 'JFK'`.

        Raises:
            TableMissing: it does not exist.
        """
        scan = self.pin(name)[name].scan(*columns)
        return (scan.filter(where) if where else scan).to_arrow()

    def pandas(self, name: str, *, columns: Sequence[str] = (), where: str | None = None) -> "pd.DataFrame":
        """The same as `arrow`, as a pandas frame."""
        return self.arrow(name, columns=columns, where=where).to_pandas()

    def frame(self, spark: SparkSession, name: str) -> DataFrame:
        """A table as a Spark frame of exactly the pinned snapshot.

        Spark looks a name up anew on every action, so a frame read by name could be two versions within one step.

        Raises:
            TableMissing: it does not exist.
        """
        pinned = self.pin(name)[name]
        show_table(spark, name, pinned.table.metadata_location)
        if (snapshot_id := pinned.snapshot_id) is None:
            return spark.createDataFrame([], spark.table(quoted_table(name)).schema)
        return rows_at(spark, name, snapshot_id)

    def release(self, group: str) -> OpenRelease:
        """The current release of a group, the same for the rest of the step: `.arrow(name)`, `.frame(spark, name)`, ….

        Raises:
            NothingReleased: there is none yet.
        """
        return self._reads.release(group)

    def parameters(self, context: StepContext) -> Mapping[str, Parameter]:
        """The run's parameters, by name: the seal of a table that carries a runtime date names those that are read.

        Args:
            context: the asset's.

        Raises:
            ParametersInvalid: the run's tag sets what is no parameter.
            ParameterNotDeclared: on reading one that no run has.
        """
        return self._reads.parameters(context, self.settings)

    def write(
        self,
        context: StepContext,
        name: str,
        data: "pa.Table | pd.DataFrame | DataFrame",
        *,
        mode: WriteMode = "append",
    ) -> MaterializeResult[Any]:
        """Write a declared table through the protocol: staged on a branch, sealed, published.

        Args:
            context: the asset's.
            name: `namespace.table`; it is created if it does not exist.
            data: an Arrow table, a pandas frame or a Spark frame.
            mode: `append` adds rows, `overwrite` replaces all of them. An old run that is executed again does not
                replace the rows of a newer one, unless its tag `lakehouse/backfill` says why.

        Returns:
            What the asset returns: rows, snapshot, schema, runtime date.

        Raises:
            NotDeclared: nobody declared the table.
            WrittenByStream: a stream, mirror, derivation or release writes it, or the lakehouse itself, and a table
                has one writer.
            DoesNotFit: the data are not what is declared; nothing was published.
            RulesBroken: rows break a blocking rule; nothing was published.
            NewerRows: the rows that would be replaced are of a later date, or were computed from later snapshots.
            BackfillTagInvalid: the run's tag that declares a backfill gives no reason.
            Superseded: another run wrote the table meanwhile; nothing was published.
        """
        self._reads.follow_step()
        if name in OWN_TABLES:
            raise WrittenByStream(f"Table {name} is written by the lakehouse itself.", remedy=_OWN)
        table = self.declared(name)
        if (writer := self.declarations.writer(name)) is not None:
            kind = type(writer).__name__.lower()
            raise WrittenByStream(f"Table {name} is written by the {kind} {writer.name}.", remedy=_OWN)
        self.ensure([name])
        return self.write_as(context, table, data, mode=mode)

    def write_as(
        self, context: StepContext, table: Table, data: "pa.Table | pd.DataFrame | DataFrame", *, mode: WriteMode
    ) -> MaterializeResult[Any]:
        """The same for a table that exists as it is given here, declared or not."""
        self._reads.follow_step()
        name = table.name
        attempt = attempt_of(context, self.settings, step=f"write:{name}")
        written = write_table(
            self.catalog,
            table,
            attempt,
            data,
            mode=mode,
            inputs=self._reads.snapshots,
            pinned=self._reads.at_pins,
            backfill=backfill_reason(context.run),
            use=self._use(context) if table.runtime_date_column else None,
        )
        self._reads.written(name)
        return materialized(table, attempt, written)

    def _use(self, context: StepContext) -> ParameterUse:
        read = self._reads.snapshots
        dated = {name: read[name] for name in read.keys() & dated_tables(self.declarations)}
        return ParameterUse(self._reads.parameters(context, self.settings), seals_of(self.catalog, dated))

    @contextmanager
    def in_step(self, run_id: str, op_handle: str, retry: int) -> Generator[None]:
        """Read and write in the name of a step whose function does not run now: for its inputs and its outputs."""
        with self._reads.in_step(run_id, op_handle, retry):
            yield

    def let_go(self) -> None:
        """Forget what a step has pinned and read, and remove its tags: it has ended."""
        self._reads.let_go()
