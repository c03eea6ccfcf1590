"""A random history of two source tables, the same for the same seed: what a mirror must survive.

Several transactions are open at once and take turns, so they commit in another order than they wrote. No thread is
needed, and none may wait for a lock: a key that an open transaction has touched is left alone by the others, and so is
a table that one has truncated.
"""

import random
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Self

import psycopg
from psycopg.sql import SQL, Composed, Identifier, Literal, Placeholder

from lakehouse_tests.fixtures.postgres import Postgres
from lakehouse_tests.steps.cdc.source_tables import Key, SourceTable, Value, lines, orders, text


@dataclass
class _Open:
    """A transaction that has begun: what it holds, and how many statements are to come."""

    connection: psycopg.Connection[tuple[Any, ...]]
    left: int
    keys: set[tuple[str, Key]] = field(default_factory=set)
    whole: set[str] = field(default_factory=set)

    @property
    def tables(self) -> set[str]:
        return {table for table, _ in self.keys} | self.whole


class Workload:
    """`with Workload(postgres, "shop", seed=1) as workload:` makes the tables; `run(n)` lets n transactions end."""

    def __init__(self, postgres: Postgres, schema: str, *, seed: int, writers: int = 3) -> None:
        print(f"workload: seed={seed}")
        self.schema = schema
        self.tables = {table.name: table for table in (orders(), lines())}
        self.counts: dict[str, int] = {}
        self._postgres = postgres
        self._rng = random.Random(seed)
        self._writers = writers
        self._open: list[_Open] = []
        self._idle: list[psycopg.Connection[tuple[Any, ...]]] = []
        self._close = ExitStack()

    def __enter__(self) -> Self:
        self._own = self._close.enter_context(self._postgres.connect())
        self._own.execute(SQL("CREATE SCHEMA {}").format(Identifier(self.schema)))
        self._own.execute(SQL("CREATE TABLE {} (n serial)").format(self._name("unwatched")))
        for table in self.tables.values():
            columns = [SQL("{} bigint").format(Identifier(name)) for name in table.key]
            columns += [
                SQL("{} {}").format(Identifier(name), SQL(kind))  # pyright: ignore[reportArgumentType]
                for name, (kind, _) in table.columns.items()
            ]
            columns.append(SQL("PRIMARY KEY ({})").format(_list(table.key)))
            self._own.execute(SQL("CREATE TABLE {} ({})").format(self._name(table.name), SQL(", ").join(columns)))
        for _ in range(self._writers):
            connection = self._close.enter_context(self._postgres.connect(autocommit=False))
            connection.execute("SET lock_timeout = '10s'")  # nobody is meant to wait
            connection.commit()
            self._idle.append(connection)
        return self

    def __exit__(self, *_: object) -> None:
        self._close.close()

    @property
    def source_tables(self) -> list[str]:
        """`schema.table` of both."""
        return [f"{self.schema}.{name}" for name in self.tables]

    def run(self, transactions: int) -> None:
        """Let so many transactions end, and then those that are still open."""
        ended = 0
        while ended < transactions:
            if self._idle and (not self._open or self._rng.random() < 0.3):
                self._open.append(_Open(self._idle.pop(), self._rng.randint(1, 8)))
            chosen = self._rng.choice(self._open)
            if chosen.left:
                self._statement(chosen)
            else:
                self._end(chosen)
                ended += 1
        while self._open:
            self._end(self._open[0])

    def add_column(self) -> None:
        """A column more, of which the rows that are there know nothing. No transaction may be open."""
        table = self.tables["orders"]
        table.columns["extra"] = ("text", text)
        self._own.execute(SQL("ALTER TABLE {} ADD COLUMN extra text").format(self._name(table.name)))

    def truth(self) -> dict[str, list[dict[str, Any]]]:
        """The rows of each table, ordered by key."""
        rows: dict[str, list[dict[str, Any]]] = {}
        for table in self.tables.values():
            query = SQL("SELECT * FROM {} ORDER BY {}").format(self._name(table.name), _list(table.key))
            with self._own.cursor(row_factory=psycopg.rows.dict_row) as cursor:
                rows[table.name] = cursor.execute(query).fetchall()
        return rows

    def _statement(self, transaction: _Open) -> None:
        transaction.left -= 1
        others = [other for other in self._open if other is not transaction]
        table = self._rng.choice(list(self.tables.values()))
        if any(table.name in other.whole for other in others):
            return  # it is locked until that one ends
        if self._rng.random() < 0.02 and not any(table.name in other.tables for other in others):
            transaction.whole.add(table.name)
            self._count("truncate")
            transaction.connection.execute(SQL("TRUNCATE {}").format(self._name(table.name)))
            return
        taken = {key for other in others for name, key in other.keys if name == table.name}
        keys = [key for key in table.keys(self._rng, self._rng.randint(2, 4)) if key not in taken]
        transaction.keys |= {(table.name, key) for key in keys}
        # A savepoint, now and then given up: a part of the transaction that nobody may be told of.
        with transaction.connection.transaction(force_rollback=self._rng.random() < 0.1):
            self._change(transaction.connection, table, keys)

    def _change(self, connection: psycopg.Connection[Any], table: SourceTable, keys: list[Key]) -> None:
        """Insert what is not there; of the rest delete some, change the others' columns or keys."""
        name = self._name(table.name)
        there = [
            key
            for key in keys
            if connection.execute(SQL("SELECT 1 FROM {} WHERE {}").format(name, _is(table, [key]))).fetchone()
        ]
        free = [key for key in keys if key not in there]
        action = self._rng.choices(["insert", "update", "delete", "move"], [5, 6, 2, 2])[0]
        if (action == "insert" and free) or not there:
            self._count("insert", len(free))
            columns = [*table.key, *table.columns]
            for key in free:
                values = [*key, *(self._value(column) for _, column in table.columns.values())]
                row = SQL("INSERT INTO {} ({}) VALUES ({})").format(name, _list(columns), _places(values))
                connection.execute(row, values)
        elif action == "delete":
            self._count("delete", len(there))
            connection.execute(SQL("DELETE FROM {} WHERE {}").format(name, _is(table, there)))
        elif action == "move" and free:
            self._count("move")
            connection.execute(
                SQL("UPDATE {} SET {} WHERE {}").format(name, _assign(table.key), _is(table, there[:1])), list(free[0])
            )
        else:
            self._count("update", len(there))
            changed = self._rng.sample(list(table.columns), self._rng.randint(1, 3))
            values = [self._value(table.columns[column][1]) for column in changed]
            connection.execute(
                SQL("UPDATE {} SET {} WHERE {}").format(name, _assign(changed), _is(table, there)), values
            )

    def _end(self, transaction: _Open) -> None:
        kept = self._rng.random() < 0.9
        self._count("commit" if kept else "rollback")
        (transaction.connection.commit if kept else transaction.connection.rollback)()
        if self._rng.random() < 0.2:  # the log also has what no connector is told of
            self._own.execute(SQL("INSERT INTO {} DEFAULT VALUES").format(self._name("unwatched")))
        self._open.remove(transaction)
        self._idle.append(transaction.connection)

    def _value(self, make: Value) -> object:
        return None if self._rng.random() < 0.15 else make(self._rng)

    def _count(self, what: str, times: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + times

    def _name(self, table: str) -> Identifier:
        return Identifier(self.schema, table)


def _list(names: Iterable[str]) -> Composed:
    return SQL(", ").join(map(Identifier, names))


def _places(values: Sequence[object]) -> Composed:
    return SQL(", ").join([Placeholder()] * len(values))


def _assign(columns: Iterable[str]) -> Composed:
    return SQL(", ").join(SQL("{} = %s").format(Identifier(name)) for name in columns)


def _is(table: SourceTable, keys: Sequence[Key]) -> Composed:
    rows = SQL(", ").join(SQL("({})").format(SQL(", ").join(map(Literal, key))) for key in keys)
    return SQL("({}) IN ({})").format(_list(table.key), rows)
