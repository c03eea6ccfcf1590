"""The Spark side of one judgement: a session and a frame that nobody opens who can do without, and a count of jobs."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import cached_property
from types import TracebackType
from typing import Self

from pyspark.sql import DataFrame, SparkSession

from lakehouse.contracts.rules.stored.questions import ColumnRule
from lakehouse.contracts.rules.stored.scan import count_broken, find_examples
from lakehouse.contracts.rules.stored.scope import RowScope
from lakehouse.declarations import Table
from lakehouse.engines.spark import single_job

Session = Callable[[], AbstractContextManager[SparkSession]]


class Asking:
    """Asks Spark about the rows of a scope.

    Attributes:
        jobs: how many jobs that took so far.
    """

    def __init__(self, declared: Table, scope: RowScope, session: Session) -> None:
        """Open nothing yet."""
        self.jobs = 0
        self._declared = declared
        self._scope = scope
        self._session = session
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """Close what was opened."""
        return self._opened.__exit__(kind, error, trace)

    def broken(self, questions: Sequence[ColumnRule]) -> tuple[int, list[int]]:
        """How many rows there are, and how many break each rule."""
        self.jobs += 1
        return count_broken(self._frame, self._declared, questions)

    def examples(self, questions: Sequence[ColumnRule]) -> list[tuple[str, ...]]:
        """A row or two that break each rule."""
        self.jobs += 1
        return find_examples(self._frame, self._declared, questions)

    @cached_property
    def _frame(self) -> DataFrame:
        spark = self._opened.enter_context(self._session())
        self._opened.enter_context(single_job(spark))
        return self._scope.frame(spark)
