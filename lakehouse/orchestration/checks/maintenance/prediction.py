"""How well the newest runs of maintenance were foreseen."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from lakehouse.steps.maintenance.log.record import DecisionFacts
from lakehouse.steps.maintenance.model.action import Operation, Predicted, fewer

FACTOR = 3.0
# Below these a factor says nothing: a busy machine for a minute, a handful of files.
_TRIFLE = {"seconds": 60.0, "files_removed": 10.0}


def badly_predicted(finished: Sequence[Mapping[str, Any]]) -> list[str]:
    """Of the newest run of each operation that was done: what differs from the prediction by more than the factor.

    Args:
        finished: rows of `lakehouse.maintenance`, newest first.
    """
    newest: dict[str, Mapping[str, Any]] = {}
    for row in finished:
        if row["result"] == "done" and row["measured"]:
            newest.setdefault(row["operation"], row)
    return [told for operation, row in newest.items() for told in _differences(operation, row)]


def _differences(operation: str, row: Mapping[str, Any]) -> Iterator[str]:
    predicted = msgspec.json.decode(row["predicted"], type=Predicted)
    told = msgspec.json.decode(row["measured"], type=DecisionFacts)
    if told.after is None:
        return
    pairs = {
        "seconds": (predicted.seconds, told.after.seconds),
        "files_removed": (
            float(predicted.files_removed),
            float(fewer(Operation(operation), told.before, told.after)),
        ),
    }
    for word, (expected, found) in pairs.items():
        low, high = sorted((max(expected, 0.0), max(found, 0.0)))
        if high > _TRIFLE[word] and high > FACTOR * max(low, 0.001):
            what = word if word == "seconds" else f"{'snapshots' if operation == Operation.EXPIRE else 'files'} fewer"
            when = f"{row['at']:%Y-%m-%d %H:%M} UTC"
            yield f"{operation} that ended {when}: {what} predicted {expected:,.0f}, measured {found:,.0f}"
