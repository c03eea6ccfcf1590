"""The tables and streams of the benchmark, declared as a user would."""

from dataclasses import dataclass
from pathlib import Path

import pandera.pyspark as pa
from pyspark.sql import types as t

from benchmarks.records import KINDS
from lakehouse.declarations import ByField, Declarations, Start, Stream, Table, ToTable, quarantine_table


class Order(pa.DataFrameModel):  # pyright: ignore[reportMissingTypeArgument]
    """An order."""

    id: t.LongType = pa.Field(description="Number")
    kind: t.StringType = pa.Field(description="Kind of goods, by which orders are routed")
    account: t.StringType = pa.Field(description="Who ordered")
    quantity: t.IntegerType = pa.Field(description="Pieces")
    price: t.DoubleType = pa.Field(description="Price of one")
    paid: t.BooleanType = pa.Field(description="Whether it is paid")
    city: t.StringType = pa.Field(description="Where to")
    placed: t.TimestampType = pa.Field(description="When")


@dataclass(frozen=True)
class Case:
    """One table for all records, or one for each kind."""

    name: str
    kinds: tuple[str, ...]

    def tables(self, namespace: str) -> dict[str, str]:
        """The kinds' tables; all kinds, written as an empty text, for the case of one."""
        return {kind: f"{namespace}.{kind or 'orders'}" for kind in self.kinds}

    def declarations(self, namespace: str, topic: str) -> Declarations:
        """What a run of ours needs: its stream, its tables and the quarantine."""
        tables = self.tables(namespace)
        route = ByField("kind", tables) if len(tables) > 1 else ToTable(tables[""])
        stream = Stream(
            name=f"{namespace}_orders",
            topic=topic,
            route=route,
            start=Start.earliest(),
            quarantine=f"{namespace}.quarantine",
        )
        declared = [order_table(name).with_coordinates() for name in tables.values()]
        declared.append(quarantine_table(stream, "benchmark"))
        return Declarations(
            tables={table.name: table for table in declared},
            streams={stream.name: stream},
            files=dict.fromkeys([stream.name, *(table.name for table in declared)], Path(__file__)),
        )


CASES = {"one": Case("one", ("",)), "five": Case("five", KINDS)}


def order_table(name: str) -> Table:
    """A table of orders."""
    return Table(name=name, schema=Order, description="Orders of the benchmark.", owner="benchmark")
