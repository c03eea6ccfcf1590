"""Kill −9 inside one operation of Spark's after the other, on the same table: the next run says so, and completes it.

Guarded mechanisms: a decision is a row before anything is done; what a dead run had staged is taken back, or it would
keep expiry waiting; nothing is visible before the publish.
"""

import signal
from pathlib import Path

import pytest

from lakehouse.declarations import MAINTENANCE_LOG
from lakehouse.protocol.seals.history import head_of
from lakehouse.settings import Settings
from lakehouse.steps.maintenance.model.action import Operation
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.steps.maintenance.maintain_child import EVERYTHING, looked_after, maintain_and_die
from lakehouse_tests.steps.maintenance.seen import DAYS, Seen

pytestmark = [pytest.mark.spark, pytest.mark.kill, pytest.mark.slow]
POINTS = [
    (Operation.REWRITE, "rewrite.written", False),
    (Operation.DEDUPLICATE, "deduplicate.written", False),
    (Operation.DEDUPLICATE, "deduplicate.published", True),
    (Operation.STATISTICS, "maintain.done", True),
]
FEW = [POINTS[0]]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("points", [FEW, pytest.param(POINTS, marks=pytest.mark.soak)], ids=["few", "all"])
def test_the_run_after_a_killed_one_completes_it(
    sql_lake: Lake,
    spark_on: SparkOn,
    connect_settings: Settings,
    tmp_path: Path,
    points: list[tuple[Operation, str, bool]],
) -> None:
    seen = Seen.create(sql_lake, spark_on, EVERYTHING)
    for number, (operation, point, landed) in enumerate(points):
        with spark_on(sql_lake.settings) as spark:
            for _ in range(2):
                seen.append(spark, (number, DAYS[0], 1, "once"), (number, DAYS[1], 1, "there"))
        before, head = seen.rows(), head_of(seen.table)
        log = tmp_path / f"{number}.log"
        code = maintain_and_die(sql_lake.settings, connect_settings, log, operation, point)
        assert code == -signal.SIGKILL, (point, log.read_text()[-3000:])
        published = landed and operation is not Operation.STATISTICS
        assert (head_of(seen.table) != head) is published, point
        assert bool(seen.table.metadata.statistics) is (operation is Operation.STATISTICS), point
        expected = sorted(set(before)) if published else before
        assert seen.rows() == expected, point

        report = looked_after(seen, spark_on, operation, f"next-{number}")
        report.require_well()
        assert report.completed == 1, point
        assert [row["result"] for row in decisions(seen, "killed")][-2:] == [
            "chosen",
            "done" if published else "failed",
        ]
        done = [outcome.result for outcome in report.outcomes if outcome.action.operation is operation]
        # Which partitions a dead run had looked through nobody knows, so deduplication looks again.
        again = not landed or operation is Operation.DEDUPLICATE
        assert done == (["done"] if again else []), point
        assert seen.rows() == (sorted(set(before)) if operation is Operation.DEDUPLICATE else before), point
        assert set(seen.table.metadata.refs) == {"main"}, point
        seen_again = looked_after(seen, spark_on, operation, f"idle-{number}")
        assert (seen_again.completed, seen_again.outcomes) == (0, ()), point


def decisions(seen: Seen, run_id: str) -> list[dict[str, object]]:
    rows = seen.lake.catalog.load_table(MAINTENANCE_LOG.identifier).scan().to_arrow().to_pylist()
    return sorted((row for row in rows if row["run_id"] == run_id), key=lambda row: row["at"])
