"""Folds messages to the rows of the source, in plain Python: what the code under test has to come to, by other means.

It takes Debezium's JSON with `decimal.handling.mode` precise or string and adaptive times, and any order of messages.
"""

import base64
import json
from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from lakehouse_tests.steps.cdc.messages import Message
from lakehouse_tests.steps.cdc.source_tables import EXACT, SourceTable

UNAVAILABLE = "__debezium_unavailable_value"
UNAVAILABLE_BYTES = base64.b64encode(UNAVAILABLE.encode()).decode()


class Place(NamedTuple):
    """Where a change is in the source's order: behind which commit, and where in the log."""

    commit: int
    lsn: int


def place(message: Message) -> Place:
    """The position of a change.

    `sequence` is JSON in text: the position of the last commit *before* this change's transaction, and the change's
    own. So all changes of a transaction share the first part, and the next transaction to commit has a larger one. It
    is null for what is read by the snapshot, and for the first transaction after it: nothing is before those.
    """
    commit, lsn = json.loads(message.document["source"]["sequence"])
    return Place(int(commit or 0), int(lsn))


def fold(table: SourceTable, messages: Iterable[Message]) -> dict[tuple[int, ...], dict[str, Any]]:
    """The rows of a table after all of its changes, by key; any of them may have come twice.

    A snapshot's rows come before all changes: a transaction that was open when the snapshot was taken has written
    before it and committed after it. The two halves of a key change are at one place: the delete comes first, and
    leaves behind the values that the create does not tell.
    """
    changes = {(_order(message), message.key): message for message in messages if message.value is not None}
    rows: dict[tuple[int, ...], dict[str, Any]] = {}
    moved: dict[Place, dict[tuple[int, ...], dict[str, Any]]] = {}
    for message in sorted(changes.values(), key=_order):
        operation, after = message.document["op"], message.document["after"]
        if operation == "t":
            rows.clear()
            continue
        key = _key(table, message.document["after"] or message.key_document)
        before = rows.pop(key, {})
        if operation == "d":
            moved.setdefault(place(message), {})[key] = before
            continue
        if old := message.header("__debezium.oldkey"):
            old_key = json.loads(old)
            before = moved[place(message)][_key(table, old_key.get("payload", old_key))]
        rows[key] = {
            # What was sent again after a column was added says of it that it is unavailable, where there was none.
            column: before.get(column) if value in (UNAVAILABLE, UNAVAILABLE_BYTES) else _value(table, column, value)
            for column, value in after.items()
        }
    return rows


def _order(message: Message) -> tuple[bool, Place, bool]:
    operation = message.document["op"]
    return operation != "r", place(message), operation != "d"


def _key(table: SourceTable, document: dict[str, Any]) -> tuple[int, ...]:
    return tuple(document[column] for column in table.key)


def _value(table: SourceTable, column: str, value: Any) -> Any:
    kind, scale = _kind(table, column)
    if value is None or kind not in CONVERT:
        return value
    return CONVERT[kind](value, scale)


def _kind(table: SourceTable, column: str) -> tuple[str, int]:
    """Type in SQL without its brackets, and the scale."""
    kind, _, arguments = table.columns[column][0].partition("(") if column in table.columns else ("", "", "")
    return kind, int(arguments.rstrip(")").split(",")[1]) if arguments else 0


def _decimal(value: str, scale: int) -> Decimal:
    """Text with a point, or the unscaled number as two's complement in Base64."""
    if "." in value:
        return Decimal(value)
    unscaled = int.from_bytes(base64.b64decode(value), signed=True)
    return Decimal(unscaled).scaleb(-scale, EXACT)


CONVERT: dict[str, Callable[[Any, int], Any]] = {
    "numeric": _decimal,
    "timestamptz": lambda value, _: datetime.fromisoformat(value),
    "timestamp": lambda micros, _: datetime(1970, 1, 1) + timedelta(microseconds=micros),  # noqa: DTZ001
    "date": lambda days, _: date(1970, 1, 1) + timedelta(days=days),
    "bytea": lambda value, _: base64.b64decode(value),
}
