"""Debezium's records that are no changes: transaction boundaries, heartbeats, changes of a schema, logical messages."""

from dataclasses import dataclass

import msgspec

from lakehouse.formats.changes.reading import Fields, is_null, member, text_of

_TIMES = frozenset(("ts_ms", "ts_us", "ts_ns"))


@dataclass(frozen=True)
class ControlRecord:
    """What a control record says of itself, as far as it does."""

    transaction: str | None
    ts_ms: int | None
    db: str | None
    schema: str | None
    table: str | None


def recognize(fields: Fields) -> ControlRecord | None:
    """Recognise a control record by its shape; None for anything else."""
    boundary = text_of(fields, "status") in ("BEGIN", "END") and text_of(fields, "id") is not None
    heartbeat = not is_null(fields, "ts_ms") and fields.keys() <= _TIMES
    of_schema = ("ddl" in fields or "tableChanges" in fields) and ("databaseName" in fields or "source" in fields)
    if not (boundary or heartbeat or of_schema):
        return None
    return read_record(fields, member(fields, "source") or {})


def read_record(fields: Fields, source: Fields) -> ControlRecord:
    """What the members that are usual in control records say."""
    transaction = member(fields, "transaction") or {}
    return ControlRecord(
        transaction=text_of(fields, "id") or text_of(transaction, "id"),
        ts_ms=_whole(source, "ts_ms") or _whole(fields, "ts_ms"),
        db=text_of(source, "db"),
        schema=text_of(source, "schema"),
        table=text_of(source, "table") or None,
    )


def _whole(fields: Fields, name: str) -> int | None:
    try:
        number = msgspec.json.decode(fields[name], type=int) if name in fields else None
    except msgspec.DecodeError:
        return None
    return number if number is not None and abs(number) < 2**53 else None
