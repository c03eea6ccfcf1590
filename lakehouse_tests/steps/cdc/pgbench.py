"""pgbench's database as a source of changes: its tables, its transactions, and what else is done to them."""

import os
import subprocess
from collections.abc import Sequence
from typing import Any

from psycopg.rows import dict_row
from psycopg.sql import SQL, Identifier
from psycopg.types.datetime import TimestampLoader

from lakehouse_tests.fixtures.postgres import Postgres, program

KEYS = {"accounts": "aid", "branches": "bid", "tellers": "tid"}
"""Table → key; history has none."""
ACCOUNTS = 100_000
"""So many pgbench makes for each branch."""
# PostgreSQL's NUMERIC may be infinite, and may be no number; no decimal of Iceberg is.
FURTHER = (
    "ADD rate numeric(12,2), ADD free numeric, ADD ratio double precision, ADD seen timestamp(3), "
    "ADD seen_zone timestamptz(3)"
)


class Pgbench:
    """pgbench's tables in a schema of their own, whose accounts have further columns.

    Args:
        postgres: the server.
        schema: where the tables are made; the connector's prefix as well.
        accounts: of the one branch.
        seed: of the first run's random numbers; each run has the next.
    """

    def __init__(self, postgres: Postgres, schema: str, *, accounts: int, seed: int) -> None:
        self._postgres = postgres
        self._schema = schema
        self._accounts = accounts
        self._seed = seed
        self.transactions = 0
        with postgres.connect() as connection:
            connection.execute(SQL("CREATE SCHEMA {}").format(Identifier(schema)))
        self._run("-i", "-q")
        self.execute(
            f"DELETE FROM pgbench_accounts WHERE aid > {accounts}",
            f"ALTER TABLE pgbench_accounts {FURTHER}",
            # Else PostgreSQL refuses every update and delete of a published table without a key.
            "ALTER TABLE pgbench_history REPLICA IDENTITY FULL",
        )

    @property
    def tables(self) -> list[str]:
        """`schema.table` of all four."""
        return [f"{self._schema}.pgbench_{name}" for name in (*KEYS, "history")]

    def transact(self, transactions: int, *options: str) -> None:
        """TPC-B by several clients at once; `-n` keeps the history, which pgbench otherwise truncates at first."""
        shown = self._run("--show-script=tpcb-like", stderr=True)
        script = shown[shown.index("\\set") :].replace(str(ACCOUNTS), str(self._accounts))
        clients = 8 if transactions >= 2000 else 4
        seed = f"--random-seed={self._seed + self.transactions}"
        each = ["-c", f"{clients}", "-t", f"{transactions // clients}"]
        summary = self._run("-f", "-", *each, seed, *options, script=script)
        assert f"processed: {transactions}/{transactions}" in summary, summary
        self.transactions += transactions

    def execute(self, *statements: str) -> None:
        """Each statement in a transaction of its own."""
        with self._postgres.connect() as connection:
            connection.execute(SQL("SET search_path = {}").format(Identifier(self._schema)))
            for statement in statements:
                connection.execute(statement.encode())

    def rows(self, name: str, columns: Sequence[str]) -> list[dict[str, Any]]:
        """What a table holds now."""
        query = SQL("SELECT {} FROM {}").format(
            SQL(", ").join(map(Identifier, columns)), Identifier(self._schema, f"pgbench_{name}")
        )
        with self._postgres.connect() as connection, connection.cursor(row_factory=dict_row) as cursor:
            cursor.adapters.register_loader("timestamp", _Timestamp)
            return cursor.execute(query).fetchall()

    def _run(self, *options: str, script: str = "", stderr: bool = False) -> str:
        server = {
            "PGHOST": self._postgres.host,
            "PGPORT": str(self._postgres.port),
            "PGUSER": self._postgres.user,
            "PGPASSWORD": self._postgres.password,
            "PGDATABASE": self._postgres.database,
            "PGOPTIONS": f"-c search_path={self._schema}",
        }
        command, environment = [program("pgbench"), *options], {**os.environ, **server}
        done = subprocess.run(command, check=False, input=script, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stderr if stderr else done.stdout


class _Timestamp(TimestampLoader):
    """Infinity as text, which no datetime is."""

    def load(self, data: Any) -> Any:
        return bytes(data).decode() if bytes(data).endswith(b"infinity") else super().load(data)
