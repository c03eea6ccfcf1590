"""Hours are of what pods have asked for, from their start to their end."""

import pytest

from lakehouse.engines.submit.kubernetes.pods import quantity, requested_hours


@pytest.mark.parametrize(
    ("text", "value"), [("2", 2.0), ("500m", 0.5), ("4Gi", 2.0**32), ("512M", 512e6), ("1.5k", 1500.0)]
)
def test_quantities_are_those_of_kubernetes(text: str, value: float) -> None:
    assert quantity(text) == value


def test_no_quantity_is_named() -> None:
    with pytest.raises(ValueError, match="'4 GiB' is no quantity"):
        quantity("4 GiB")


def test_hours_are_counted_from_start_to_end() -> None:
    containers = [{"resources": {"requests": {"cpu": "1500m", "memory": "4G"}}}]
    ended = [{"state": {"terminated": {"finishedAt": "2026-11-25T10:30:00Z"}}}]
    start = {"startTime": "2026-11-25T10:00:00Z"}
    done = {"spec": {"containers": containers}, "status": {**start, "containerStatuses": ended}}
    at_work = {"spec": {"containers": containers}, "status": {**start, "containerStatuses": [{"state": {}}]}}
    waiting = {"spec": {"containers": containers}, "status": {}}
    now = 1_795_600_800.0 + 3600  # 2026-11-25T10:00:00Z, and an hour
    assert requested_hours([done], now) == (0.75, 2.0)
    assert requested_hours([at_work], now) == (1.5, 4.0)
    assert requested_hours([waiting], now) == (0.0, 0.0)
