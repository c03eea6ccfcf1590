"""What pods have asked for, for as long as they ran."""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

_GB = 10**9
_UNITS = {
    "": 1.0,
    "m": 1e-3,
    **{unit: 1000.0**power for power, unit in enumerate("kMGTPE", 1)},
    **{f"{unit}i": 1024.0**power for power, unit in enumerate("KMGTPE", 1)},
}
_SECONDS_PER_HOUR = 3600


def quantity(text: str) -> float:
    """A quantity of Kubernetes: `500m` is 0.5, `4Gi` is 4294967296.

    Raises:
        ValueError: it is none.
    """
    match = re.fullmatch(r"(\d+(?:\.\d*)?)([A-Za-z]*)", text)
    if match is None or match[2] not in _UNITS:
        raise ValueError(f"{text!r} is no quantity of Kubernetes.")
    return float(match[1]) * _UNITS[match[2]]


def requested_hours(pods: Iterable[Mapping[str, Any]], now: float) -> tuple[float, float]:
    """Hours of vCPUs, and of GB of memory.

    Args:
        pods: as the API server gives them; one that waits for a node costs nothing yet.
        now: seconds since the epoch, for those that run.
    """
    cpu = memory = 0.0
    for pod in pods:
        hours = _hours(pod.get("status") or {}, now)
        for container in pod["spec"]["containers"]:
            requests = (container.get("resources") or {}).get("requests") or {}
            cpu += hours * quantity(str(requests.get("cpu", "0")))
            memory += hours * quantity(str(requests.get("memory", "0"))) / _GB
    return cpu, memory


def _hours(status: Mapping[str, Any], now: float) -> float:
    if not status.get("startTime"):
        return 0.0
    states = [container.get("state", {}) for container in status.get("containerStatuses") or []]
    ends = [state["terminated"]["finishedAt"] for state in states if state.get("terminated", {}).get("finishedAt")]
    end = max(map(_seconds, ends)) if ends and len(ends) == len(states) else now
    return max(end - _seconds(status["startTime"]), 0.0) / _SECONDS_PER_HOUR


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
