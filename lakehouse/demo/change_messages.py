"""Changes as messages: the way Debezium's PostgreSQL connector writes them, and the way AWS DMS does."""

from collections.abc import Sequence
from typing import Literal

import polars as pl

from lakehouse.demo.change_history import ARRIVED, AT_ARRIVAL, AT_DEPARTURE, CANCELLED, DEPARTED, KEY, SCHEDULED

MessageFormat = Literal["debezium", "dms"]

SOURCE_SCHEMA, SOURCE_TABLE = "public", "flights"
_DEBEZIUM_OPERATIONS = {SCHEDULED: "c", DEPARTED: "u", ARRIVED: "u", CANCELLED: "d"}
_DMS_OPERATIONS = {SCHEDULED: "insert", DEPARTED: "update", ARRIVED: "update", CANCELLED: "delete"}
_ON_THE_WAY_MS = 250  # from the source's commit to the connector


def keys(flights: pl.DataFrame) -> list[bytes]:
    """The messages' key of each flight."""
    return _source_rows(flights).select(pl.struct(KEY).struct.json_encode().cast(pl.Binary)).to_series().to_list()


def values(changes: pl.DataFrame, flights: pl.DataFrame, message_format: MessageFormat) -> list[bytes]:
    """The message of each change.

    Args:
        changes: as `history` has them.
        flights: all flights as they ended; `flight_row` of a change is its number there.
        message_format: how it is written.
    """
    rows = _source_rows(flights[changes["flight_row"]])
    image = pl.struct(*(_as_known(name).alias(name) for name in rows.columns)).struct.json_encode()
    messages = changes.hstack(rows).select(
        pl.all().exclude(rows.columns),
        image.alias("image"),
        deleted=pl.col("kind") == CANCELLED,
        milliseconds=pl.col("time").dt.epoch("ms"),
        text=pl.col("time").dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ"),
    )
    parts = _debezium() if message_format == "debezium" else _dms()
    return messages.select(pl.concat_str(parts).cast(pl.Binary)).to_series().to_list()


def _source_rows(flights: pl.DataFrame) -> pl.DataFrame:
    """The source table's rows; both formats write a timestamp with zone as text, with all digits that it may have."""
    return flights.with_columns(pl.col("time_hour").str.replace("Z", ".000000Z", literal=True))


def _as_known(name: str) -> pl.Expr:
    """What a change says of a column; of a deleted row nothing but the key, as with `REPLICA IDENTITY DEFAULT`."""
    if name in KEY:
        return pl.col(name)
    is_known = pl.col("kind") != CANCELLED
    if name in AT_DEPARTURE:
        is_known &= pl.col("kind") >= DEPARTED
    if name in AT_ARRIVAL:
        is_known &= pl.col("kind") >= ARRIVED
    return pl.when(is_known).then(name)


def _debezium() -> Sequence[pl.Expr]:
    image, null = pl.col("image"), pl.lit("null")
    return [
        pl.lit('{"before":'),
        pl.when("deleted").then(image).otherwise(null),
        pl.lit(',"after":'),
        pl.when("deleted").then(null).otherwise(image),
        pl.lit(',"source":{"version":"3.6.0.Final","connector":"postgresql","name":"airline","ts_ms":'),
        pl.col("milliseconds"),
        pl.lit(',"snapshot":"false","db":"airline","sequence":"[\\"'),
        pl.col("last_commit"),
        pl.lit('\\",\\"'),
        pl.col("lsn"),
        pl.lit('\\"]","ts_us":'),
        pl.col("milliseconds") * 1000,
        pl.lit(f',"schema":"{SOURCE_SCHEMA}","table":"{SOURCE_TABLE}","txId":'),
        pl.col("transaction"),
        pl.lit(',"lsn":'),
        pl.col("lsn"),
        pl.lit('},"transaction":null,"op":"'),
        pl.col("kind").replace_strict(_DEBEZIUM_OPERATIONS, return_dtype=pl.String),
        pl.lit('","ts_ms":'),
        pl.col("milliseconds") + _ON_THE_WAY_MS,
        pl.lit("}"),
    ]


def _dms() -> Sequence[pl.Expr]:
    return [
        pl.lit('{"data":'),
        pl.col("image"),
        pl.lit(',"metadata":{"timestamp":"'),
        pl.col("text"),
        pl.lit('","record-type":"data","operation":"'),
        pl.col("kind").replace_strict(_DMS_OPERATIONS, return_dtype=pl.String),
        pl.lit('","partition-key-type":"primary-key","schema-name":"'),
        pl.lit(f'{SOURCE_SCHEMA}","table-name":"{SOURCE_TABLE}","transaction-id":'),
        pl.col("transaction"),
        pl.lit(',"transaction-record-id":'),
        pl.col("record"),
        pl.lit(',"commit-timestamp":"'),
        pl.col("text"),
        pl.lit('","stream-position":"'),
        _log_position("commit"),
        pl.lit(".3."),
        _log_position("lsn"),
        pl.lit('"}}'),
    ]


def _log_position(name: str) -> pl.Expr:
    """As PostgreSQL prints it: two halves of eight hexadecimal digits."""
    position = pl.col(name)
    return pl.concat_str(_hexadecimal(position // 2**32), pl.lit("/"), _hexadecimal(position % 2**32))


def _hexadecimal(number: pl.Expr) -> pl.Expr:
    digits = (number // 16**power % 16 for power in range(7, -1, -1))
    return pl.concat_str(pl.lit("0123456789ABCDEF").str.slice(digit, 1) for digit in digits)
