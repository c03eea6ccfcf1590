"""What Dagster remembers of how long runs took."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from dagster import DagsterRunStatus

from lakehouse.orchestration.resources.run_records import longest_run

NOW = datetime(2026, 6, 1, tzinfo=UTC)


class Instance:
    """Dagster's records of one run."""

    def __init__(self, status: DagsterRunStatus, took: timedelta) -> None:
        began = NOW - took
        self.record = SimpleNamespace(
            start_time=began.timestamp(),
            end_time=NOW.timestamp(),
            create_timestamp=began,
            dagster_run=SimpleNamespace(status=status),
        )

    def get_run_records(self, *_: object, **__: object) -> list[Any]:
        return [self.record]


@pytest.mark.parametrize(
    ("status", "took", "days"),
    [
        (DagsterRunStatus.SUCCESS, 3, 3),
        (DagsterRunStatus.SUCCESS, 2518, 30),  # it began with a clock of years ago
        (DagsterRunStatus.FAILURE, 2518, 30),
        (DagsterRunStatus.STARTED, 43, 43),  # who is at work is waited for
    ],
)
def test_a_run_that_is_done_is_believed_up_to_a_month(status: DagsterRunStatus, took: int, days: int) -> None:
    instance = Instance(status, timedelta(days=took))
    assert longest_run(cast("Any", instance), NOW) == timedelta(days=days)
