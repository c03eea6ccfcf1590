"""Two raw tables, what is derived from them, and what runs it: small enough to look at every row."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import pandera.pyspark as pandera
import pyarrow as pa
import pyspark.sql.types as T  # noqa: N812
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.table import Table as IcebergTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from lakehouse.declarations import Declarations, Derived, Table, apply, plan
from lakehouse.orchestration.resources.staging import stage_arrow
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.commit import publish, seal_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.history import head_of, last_seal
from lakehouse.protocol.seals.seal import Seal
from lakehouse.settings import CatalogSettings, Parameter
from lakehouse.steps.derived.inputs.pins import Pin
from lakehouse.steps.derived.parts import part_of
from lakehouse.steps.derived.report import DeriveReport
from lakehouse.steps.derived.statement import KIND, DeriveStatement
from lakehouse.steps.derived.step import DeriveStep, derive
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn

DAY = "2013-05-14"
SALES = {"id": T.LongType(), "shop": T.StringType(), "day": T.DateType(), "amount": T.LongType()}
SHOPS = {"shop": T.StringType(), "city": T.StringType()}
TOTALS = {"shop": T.StringType(), "total": T.LongType()}
DATED = {"runtime_date": pandera.Column(T.DateType(), nullable=False)}


def table_of(name: str, columns: Mapping[str, Any], *, derived: bool = False, **more: Any) -> Table:
    """A table; a bare type is a nullable column. A derived one gets its date column."""
    declared = {n: pandera.Column(c, nullable=True) if isinstance(c, T.DataType) else c for n, c in columns.items()}
    if derived:
        declared |= DATED
        more = {"write_mode": "overwrite", "runtime_date_column": "runtime_date", **more}
    return Table(name=name, schema=pandera.DataFrameSchema(declared), description="Of a test.", owner="tests", **more)


def total(sales: DataFrame) -> DataFrame:
    """Sum by shop."""
    return sales.groupBy("shop").agg(f.sum("amount").alias("total"))


@dataclass
class Workshop:
    """Raw tables `sales` and `shops`, and derived tables that tests declare."""

    catalog: LakeCatalog
    settings: CatalogSettings
    namespace: str
    spark_on: SparkOn
    declarations: Declarations = field(default_factory=lambda: Declarations({}, {}, {}))
    messages: list[str] = field(default_factory=list[str])

    def name(self, short: str) -> str:
        """`namespace.table`."""
        return f"{self.namespace}.{short}"

    def declare_raw(self) -> None:
        """Declare the raw tables, and create them where they are not there."""
        self.declare(table_of(self.name("sales"), SALES))
        self.declare(table_of(self.name("shops"), SHOPS))

    def declare(self, table: Table) -> Table:
        """Declare a table and create it."""
        self.declarations.tables[table.name] = table
        apply(plan(table, self.catalog), self.catalog)
        return table

    def derived(
        self,
        short: str,
        columns: Mapping[str, Any] = TOTALS,
        compute: Callable[..., DataFrame] | str = total,
        *,
        inputs: Mapping[str, str] | None = None,
        table: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Derived:
        """Declare a derived table; its inputs by their short names."""
        given = inputs or {"sales": "sales"}
        mode = {"write_mode": "append"} if more.get("mode") == "incremental" else {}
        derived = Derived(
            table=table_of(self.name(short), columns, derived=True, **mode, **(table or {})),
            inputs={argument: self.name(name) for argument, name in given.items()},
            compute=compute,
            **more,
        )
        self.declare(derived.table)
        self.declarations.derived[derived.name] = derived
        return derived

    def write(self, short: str, rows: Iterable[Mapping[str, Any]], *, replacing: bool = False, **attempt: str) -> int:
        """Publish rows to a table as anybody's step would; returns the snapshot."""
        name = self.name(short)
        base = read_bases(self.catalog, [name])[name]
        who = Attempt(**{"run_id": "writer", "step": f"write:{short}", **attempt})
        schema = schema_to_pyarrow(base.table.schema(), include_field_ids=False)
        stage_arrow(self.catalog, pa.Table.from_pylist(list(rows), schema=schema), base, who, replacing=replacing)
        previous = base.sealed.seal if base.sealed else None
        seal = Seal.of(who, "write", statement={}, previous=previous)
        return publish(self.catalog, [seal_branch(self.catalog, base, who, seal)]).snapshots[name]

    def computed(self, derived: Derived, *, run: str = "run", day: str = DAY, digest: str = "{}", **more: Any) -> int:
        """What a step of a derived table leaves behind, without a step: a row, and a seal that names its inputs."""
        short = derived.table.identifier[1]
        base = read_bases(self.catalog, [derived.name])[derived.name]
        who = Attempt(run_id=run, step=f"derive:{derived.name}", runtime_date=day, parameters_digest=digest)
        schema = schema_to_pyarrow(base.table.schema(), include_field_ids=False)
        row = {"shop": "Kiel", "total": 1, "runtime_date": date.fromisoformat(day)}
        stage_arrow(self.catalog, pa.Table.from_pylist([row], schema=schema), base, who, replacing=True)
        inputs = {
            name: head_of(self.catalog.load_table(tuple(name.split(".")))) or 0 for name in derived.inputs.values()
        }
        statement = DeriveStatement(mode="full", added=1, total=1, declared=derived.inputs, scanned=inputs, **more)
        previous = base.sealed.seal if base.sealed else None
        seal = Seal.of(who, KIND, statement=statement.to_keys(), previous=previous, inputs=inputs)
        publish(self.catalog, [seal_branch(self.catalog, base, who, seal)])
        return self.head(short) or 0

    def sell(self, *sales: tuple[str, int]) -> int:
        """Append sales (shop, amount)."""
        count = self.load("sales").scan().to_arrow().num_rows if head_of(self.load("sales")) else 0
        return self.write("sales", [{"id": count + n, "shop": s, "amount": a} for n, (s, a) in enumerate(sales)])

    def step(
        self,
        derived: Derived,
        *,
        run: str = "run",
        day: str = DAY,
        parameters: Mapping[str, Parameter] | None = None,
        keys: Sequence[str] = (),
        **more: Any,
    ) -> DeriveStep:
        """A step."""
        given = dict(parameters or {})
        attempt = Attempt(
            run_id=run,
            step=f"derive:{derived.name}",
            runtime_date=day,
            parameters_digest=json.dumps(given, sort_keys=True),
            code_version="1",
        )
        made = DeriveStep(
            derived=derived,
            declarations=self.declarations,
            catalog=self.catalog,
            session=lambda: self.spark_on(self.settings),
            attempt=attempt,
            pin=Pin(run, 1_000_000_000_000),
            parameters=given,
            part=part_of(derived, keys),
            inform=self.messages.append,
        )
        return replace(made, **more)

    def run(self, derived: Derived, **more: Any) -> DeriveReport:
        """One run of a step."""
        return derive(self.step(derived, **more))

    def load(self, short: str) -> IcebergTable:
        """A table afresh."""
        return self.catalog.load_table((self.namespace, short))

    def head(self, short: str) -> int | None:
        """Where `main` is."""
        return head_of(self.load(short))

    def rows(self, short: str, *columns: str) -> list[tuple[Any, ...]]:
        """Rows of `main`, sorted."""
        rows = self.load(short).scan().to_arrow().to_pylist()
        names = columns or tuple(name for name in (rows[0] if rows else {}) if name != "runtime_date")
        return sorted(tuple(row[name] for name in names) for row in rows)

    def newest_seal(self, short: str) -> tuple[Seal, DeriveStatement]:
        """What the newest seal says."""
        sealed = last_seal(self.load(short))
        assert sealed
        statement = DeriveStatement.from_keys(sealed.seal.statement)
        assert statement
        return sealed.seal, statement

    def branches(self, short: str) -> list[str]:
        """References of a table beside `main`, leases and pins."""
        refs = self.load(short).metadata.refs
        return [name for name in refs if name != "main" and not name.startswith(("lakehouse_pin", "lakehouse_lease"))]

    def spark(self, ask: Callable[[SparkSession], Any]) -> Any:
        """Ask a session of its own."""
        with self.spark_on(self.settings) as spark:
            return ask(spark)


def make_workshop(lake: Lake, spark_on: SparkOn) -> Workshop:
    """Declare the raw tables and sell something."""
    workshop = Workshop(lake.catalog, lake.settings, lake.namespace, spark_on)
    workshop.declare_raw()
    workshop.sell(("Kiel", 1), ("Kiel", 2), ("Bonn", 4))
    return workshop


def no_spark(_: object) -> Any:
    """For steps that must end before a row is read."""
    pytest.fail("Spark was asked for a session")
