"""The check `predicted_well`: what is compared is the same thing on both sides, and the run is named by its time."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from lakehouse.orchestration.checks.maintenance.prediction import badly_predicted
from lakehouse.steps.maintenance.log.record import DecisionFacts
from lakehouse.steps.maintenance.model.action import Operation, Predicted, TableMeasure


def finished(operation: Operation, predicted: Predicted, before: TableMeasure, after: TableMeasure) -> dict[str, Any]:
    return {
        "operation": operation.value,
        "result": "done",
        "at": datetime(2013, 6, 1, 12, 30, tzinfo=UTC),
        "predicted": msgspec.json.encode(predicted).decode(),
        "measured": msgspec.json.encode(DecisionFacts(before, after)).decode(),
    }


@pytest.mark.parametrize(("left", "warned"), [(17, False), (100, True)])
def test_an_expiry_is_judged_by_snapshots_however_many_files_go_with_them(left: int, warned: bool) -> None:
    row = finished(
        Operation.EXPIRE,
        Predicted(files_removed=3 if not warned else 100),
        TableMeasure(files=13, snapshots=20 if not warned else 105),
        TableMeasure(snapshots=left),
    )
    told = ["expire that ended 2013-06-01 12:30 UTC: snapshots fewer predicted 100, measured 5"]
    assert badly_predicted([row]) == (told if warned else [])


def test_a_rewrite_is_judged_by_files() -> None:
    row = finished(Operation.REWRITE, Predicted(files_removed=3), TableMeasure(files=50), TableMeasure(files=10))
    assert badly_predicted([row]) == ["rewrite that ended 2013-06-01 12:30 UTC: files fewer predicted 3, measured 40"]
