"""A lake of two declared tables with its audit log, on either catalog; commits are made by hand, without Dagster."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from pyspark.sql.types import LongType, StringType

from lakehouse.declarations import AUDIT_LOG, Column, Declarations, Table, apply, plan
from lakehouse.declarations.own_tables.audit_row import AuditRow
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.commit import publish, seal_branch, stage_files
from lakehouse.protocol.journal import Appended, Event, JournalNews, JournalPosition, append, logged, reconcile
from lakehouse.protocol.journal.event import Known
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.history import head_of
from lakehouse.protocol.seals.seal import Seal
from lakehouse_tests.fixtures.lakes import Lake

COLUMNS = (Column("n", LongType(), required=False), Column("s", StringType(), required=False))


@dataclass
class Kept:
    """A lake that keeps an audit log.

    The log has one name in every lake, and the REST catalog is shared by all tests: so it is emptied with each.
    """

    lake: Lake
    declarations: Declarations

    @property
    def a(self) -> str:
        """The first table."""
        return f"{self.lake.namespace}.a"

    @property
    def b(self) -> str:
        """The second table."""
        return f"{self.lake.namespace}.b"

    def write(self, table: str, *numbers: int, run: str = "run", kind: str = "write", **statement: str) -> Attempt:
        """Publish rows to one table."""
        attempt = Attempt(run, f"write:{table}", runtime_date="2013-05-14", code_version="c1", parameters_digest="p1")
        base = self.lake.bases(table)[table]
        if numbers:
            stage_files(self.lake.catalog, base, attempt, self.lake.files(table, numbers))
        seal = Seal.of(
            attempt,
            kind,
            statement={key.replace("_", "."): value for key, value in statement.items()},
            previous=base.sealed.seal if base.sealed else None,
            inputs={self.b: 7},
        )
        publish(self.lake.catalog, [seal_branch(self.lake.catalog, base, attempt, seal)])
        return attempt

    def head(self, table: str) -> int:
        """The newest snapshot of a table."""
        head = head_of(self.lake.load(table))
        assert head is not None
        return head

    def source(self, catalog: Any = None, most: int = 1000) -> Callable[[JournalPosition, Known], JournalNews]:
        """The commits of the lake's tables."""
        ask = partial(reconcile, catalog or self.lake.catalog, self.declarations, most=most)
        return lambda position, known: ask(position, known=known)

    def record(self, most: int = 1000) -> Appended:
        """Bring the log up to date, as anybody may: with a connection of one's own."""
        catalog = open_catalog(self.lake.settings)
        return append(catalog, [self.source(catalog, most)], writer="test")

    def rows(self, **which: str) -> list[AuditRow]:
        """What is logged."""
        return logged(self.lake.catalog, **which)

    def summaries(self) -> list[tuple[str, str, str]]:
        """Kind, outcome and table of each row."""
        names = {self.a: "a", self.b: "b", None: ""}
        return [(row.kind, row.outcome, names[row.table_name]) for row in self.rows()]

    def ids(self) -> Sequence[str]:
        """The ids of all rows, in the order of the log."""
        return [row.event_id for row in self.rows()]


def event(name: str, **fields: Any) -> Event:
    """An event of no particular kind."""
    return Event(
        id=name,
        kind="run",
        timestamp=fields.pop("timestamp", datetime(2026, 1, 1, tzinfo=UTC)),
        outcome="success",
        message=fields.pop("message", "It went well."),
        **fields,
    )


def keeping(lake: Lake) -> Kept:
    """Let a lake keep a log."""
    tables = {
        name: Table(name=name, schema=COLUMNS, description="Numbers.", owner="us")
        for name in (f"{lake.namespace}.a", f"{lake.namespace}.b")
    }
    for table in (*tables.values(), AUDIT_LOG):
        apply(plan(table, lake.catalog), lake.catalog)
    return Kept(lake, Declarations({**tables, AUDIT_LOG.name: AUDIT_LOG}, {}, {}))


@pytest.fixture
def kept(sql_lake: Lake) -> Kept:
    """On the embedded catalog."""
    return keeping(sql_lake)


@pytest.fixture
def kept_anywhere(lake: Lake) -> Iterator[Kept]:
    """On both catalogs."""
    yield keeping(lake)
    lake.catalog.drop_table(AUDIT_LOG.identifier)


@pytest.fixture
def kept_by_rest(rest_lake: Lake) -> Iterator[Kept]:
    """On the REST catalog, whose answers can be lost."""
    yield keeping(rest_lake)
    rest_lake.catalog.drop_table(AUDIT_LOG.identifier)
