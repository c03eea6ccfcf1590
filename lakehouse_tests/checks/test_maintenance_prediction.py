"""The check `predicted_well`: what is compared is the same thing on both sides, and the run is named by its time."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from lakehouse.checks.maintenance_prediction import badly_predicted
from lakehouse.maintenance.action import Measured, Operation, Predicted
from lakehouse.maintenance.record import Told


def finished(operation: Operation, predicted: Predicted, before: Measured, after: Measured) -> dict[str, Any]:
    return {
        "operation": operation.value,
        "result": "done",
        "at": datetime(2013, 6, 1, 12, 30, tzinfo=UTC),
        "predicted": msgspec.json.encode(predicted).decode(),
        "measured": msgspec.json.encode(Told(before, after)).decode(),
    }


@pytest.mark.parametrize(("left", "warned"), [(17, False), (100, True)])
def test_an_expiry_is_judged_by_snapshots_however_many_files_go_with_them(left: int, warned: bool) -> None:
    row = finished(
        Operation.EXPIRE,
        Predicted(files_removed=3 if not warned else 100),
        Measured(files=13, snapshots=20 if not warned else 105),
        Measured(snapshots=left),
    )
    told = ["expire that ended 2013-06-01 12:30 UTC: snapshots fewer predicted 100, measured 5"]
    assert badly_predicted([row]) == (told if warned else [])


def test_a_rewrite_is_judged_by_files() -> None:
    row = finished(Operation.REWRITE, Predicted(files_removed=3), Measured(files=50), Measured(files=10))
    assert badly_predicted([row]) == ["rewrite that ended 2013-06-01 12:30 UTC: files fewer predicted 3, measured 40"]
