"""An I/O manager for plain assets: what one returns is stored by the write protocol, what one takes is loaded pinned.

A table that is declared gets what its declaration says: contract rules, layout, maintenance. One that is not takes its
columns from the frame; nobody maintains it.
"""

from dataclasses import dataclass
from typing import Any

import dagster as dg
import pandas as pd
import polars as pl
import pyarrow as pa
from dagster import DagsterInstance, DagsterRun
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.schema import Schema
from pyspark.sql import DataFrame
from typing_extensions import override

from lakehouse.declarations import apply, plan
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import identifier_of
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.orchestration.frames.storable import completed, rows_of, table_of
from lakehouse.orchestration.resources import Lake, LakehouseSpark

NAMESPACE = "assets"


class FrameNotStored(LakehouseError):
    """An asset's output or input that is no table."""


@dataclass(frozen=True)
class _Step:
    """What writing wants to know of the step whose output it is."""

    run: DagsterRun
    instance: DagsterInstance


class FrameIOManager(dg.IOManager):
    """Stores frames of Arrow, polars, pandas and Spark as tables, and loads them as what an asset's parameter asks for.

    The asset `mart/sizes` is the table `mart.sizes`; `sizes` alone is `assets.sizes`.
    """

    def __init__(self, lake: Lake, spark: LakehouseSpark) -> None:
        self._lake = lake
        self._spark = spark

    @override
    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        """Replace the rows of the asset's table.

        Raises:
            FrameNotStored: it is no asset, is in partitions, or its key names no table.
            DoesNotFit: it is no frame, or has columns that cannot be stored, or not in this table.
            CommitError: it was not published, see `Lake.write`.
        """
        if not context.has_asset_key or context.has_asset_partitions:
            raise FrameNotStored(
                f"Output {context.name} of {context.step_key} is no asset, or one in partitions.",
                remedy="make it an asset without partitions; a derived table can have them",
            )
        name, lake = self._table(context.asset_key), self._lake
        rows = rows_of(name, obj)
        step = context.step_context
        with lake.in_step(step.run_id, str(step.node_handle), step.previous_attempt_count):
            if name in lake.declarations.tables or name in lake.declarations.stopped:
                result = lake.write(_Step(step.dagster_run, step.instance), name, rows, mode="overwrite")
            else:
                table = table_of(name, rows, self._columns(name))
                apply(plan(table, lake.catalog), lake.catalog)
                rows = completed(rows, table)
                result = lake.write_as(_Step(step.dagster_run, step.instance), table, rows, mode="overwrite")
        context.add_output_metadata(dict(result.metadata or {}))

    @override
    def load_input(self, context: dg.InputContext) -> Any:
        """Load the table of an asset, as the parameter's annotation says.

        Raises:
            FrameNotStored: the input is no asset, or the annotation is no frame.
            NoSuchTableError: nobody has stored it yet.
        """
        if not context.has_asset_key:
            raise FrameNotStored(f"Input {context.name} is no asset.", remedy="take an asset, or another I/O manager")
        name, lake, step = self._table(context.asset_key), self._lake, context.step_context
        kind = context.dagster_type.typing_type
        with lake.in_step(step.run_id, str(step.node_handle), step.previous_attempt_count):
            if isinstance(kind, type) and issubclass(kind, DataFrame):
                # A frame lives as long as its session, here until the run ends.
                return lake.frame(self._spark.spark_session, name)
            if kind is pa.Table:
                return lake.arrow(name)
            if kind is pd.DataFrame:
                return lake.pandas(name)
            if kind is pl.DataFrame:
                return pl.DataFrame(lake.arrow(name))
            if kind is pl.LazyFrame:
                return pl.DataFrame(lake.arrow(name)).lazy()
        raise FrameNotStored(
            f"Parameter {context.name} of {step.step.key} does not say as what {name} is loaded.",
            remedy="annotate it with pyarrow.Table, polars.DataFrame, polars.LazyFrame, pandas.DataFrame or "
            "pyspark.sql.DataFrame",
        )

    def _columns(self, name: str) -> Schema | None:
        try:
            return self._lake.catalog.load_table(identifier_of(name)).schema()
        except NoSuchTableError:
            return None

    def _table(self, key: dg.AssetKey) -> str:
        name = self._lake.names.table(key)
        parts = name.split(".")
        if len(parts) > 2:
            raise FrameNotStored(
                f"Asset {key.to_user_string()} has a key of {len(parts)} parts; a table has a namespace and a name.",
                remedy="give it a key of one part or two, behind the prefix of the settings",
            )
        return name if len(parts) == 2 else f"{NAMESPACE}.{name}"


def frame_io_manager(names: DagsterNames = DEFAULT_NAMES) -> dg.IOManagerDefinition:
    """Make the I/O manager, with the lake and Spark of a run."""

    @dg.io_manager(
        required_resource_keys={names.lake, names.spark},
        description="Stores frames of Arrow, polars, pandas and Spark as Iceberg tables, and loads them.",
    )
    def lake_io_manager(context: dg.InitResourceContext) -> FrameIOManager:
        return FrameIOManager(getattr(context.resources, names.lake), getattr(context.resources, names.spark))

    return lake_io_manager
