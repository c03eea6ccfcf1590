"""One question about one table, and what is needed to answer it."""

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import dagster as dg
from pyspark.sql import SparkSession

from lakehouse.declarations import Declarations, Table
from lakehouse.orchestration.resources import Lake
from lakehouse.protocol.seals.read_group import Pinned, read_group

_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class TableCheckRun:
    """What the checks of one table share in one run of theirs.

    Attributes:
        lake: catalog, declarations and settings.
        table: the declaration of the table that is judged.
        session: opens the one Spark session of these checks; nobody who can do without asks for it.
        instance: for what earlier runs of a check have stored.
        inform: tells progress.
        run_id: in whose name something is kept for later checks.
    """

    lake: Lake
    table: Table
    session: Callable[[], AbstractContextManager[SparkSession]]
    instance: dg.DagsterInstance
    inform: Callable[[str], None]
    run_id: str = ""
    _answers: dict[Hashable, Any] = field(default_factory=dict[Hashable, Any], repr=False, compare=False)

    def once(self, name: Hashable, find: Callable[[], _Answer]) -> _Answer:
        """Find something that several checks of this run need, the first time that one of them asks."""
        if name not in self._answers:
            self._answers[name] = find()
        return self._answers[name]

    @property
    def declarations(self) -> Declarations:
        """All that is declared."""
        return self.lake.declarations

    @property
    def key(self) -> dg.AssetKey:
        """The table's asset."""
        return self.lake.names.key(self.table.name)

    @cached_property
    def pinned(self) -> Pinned:
        """The table at one snapshot, the same for all checks of this run; each names it in its metadata."""
        return read_group(self.lake.catalog, [self.table.name])[self.table.name]


@dataclass(frozen=True)
class Judge:
    """One check of a table.

    Attributes:
        name: of the check.
        description: what it proves, in words for the UI.
        answer: gives the result, with `snapshot id` in its metadata. It raises where the question cannot be answered:
            Dagster then shows the check as not executed, which is not the same as failed.
        blocking: whether a failure stops what is computed from the table in the same run, and its releases.
    """

    name: str
    description: str
    answer: Callable[[TableCheckRun], dg.AssetCheckResult]
    blocking: bool = False
