"""The tables and streams of the benchmark, declared as a user would."""

from dataclasses import dataclass
from pathlib import Path

import pandera.pyspark as pa
from pyspark.sql import types as t

from benchmarks.encodings import HUNDRED, Encoding
from benchmarks.records import KINDS
from lakehouse.declarations import (
    Avro,
    ByField,
    Declarations,
    Protobuf,
    Start,
    Stream,
    Table,
    ToTable,
    quarantine_table,
)


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
    """One table for all records, or one for each kind.

    Attributes:
        kinds: by which records are routed; an empty one stands for all.
        systems: which can do it. Spark 4.1 has no Protobuf to be had, and the sink needs converters of others.
    """

    name: str
    kinds: tuple[str, ...]
    encoding: Encoding = "json"
    systems: tuple[str, ...] = ("ours", "streaming", "connect")

    @property
    def topic(self) -> str:
        """The topic's name, before the number of its records."""
        return "orders" if self.name in ("one", "five") else f"orders-{self.name}"

    def namespaces(self, namespace: str) -> tuple[str, ...]:
        """A hundred tables are in two."""
        return (namespace, f"{namespace}_b") if len(self.kinds) > len(KINDS) else (namespace,)

    def tables(self, namespace: str) -> dict[str, str]:
        """The kinds' tables; all kinds, written as an empty text, for the case of one."""
        spaces = self.namespaces(namespace)
        return {kind: f"{spaces[n % len(spaces)]}.{kind or 'orders'}" for n, kind in enumerate(self.kinds)}

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
            **({} if self.encoding == "json" else {"format": _FORMATS[self.encoding](registry=True)}),
        )
        declared = [order_table(name).with_coordinates() for name in tables.values()]
        declared.append(quarantine_table(stream, "benchmark"))
        return Declarations(
            tables={table.name: table for table in declared},
            streams={stream.name: stream},
            files=dict.fromkeys([stream.name, *(table.name for table in declared)], Path(__file__)),
        )


_FORMATS = {"avro": Avro, "protobuf": Protobuf}
_CASES = (
    Case("one", ("",)),
    Case("five", KINDS),
    Case("avro", ("",), "avro", ("ours", "streaming")),
    Case("protobuf", ("",), "protobuf", ("ours",)),
    Case("hundred", HUNDRED),
)
CASES = {case.name: case for case in _CASES}


def order_table(name: str) -> Table:
    """A table of orders."""
    return Table(name=name, schema=Order, description="Orders of the benchmark.", owner="benchmark")
