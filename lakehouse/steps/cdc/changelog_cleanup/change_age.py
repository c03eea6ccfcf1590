"""How old a change is, by Kafka's timestamps, which a producer's clock may have made."""

from datetime import datetime, timedelta

import polars as pl

from lakehouse.proofs.audit.coordinates import OFFSET, PARTITION

TIME = "_kafka_timestamp"


def young_changes(changes: pl.DataFrame, now: datetime, retention: timedelta) -> pl.DataFrame:
    """The changes whose age is within the retention.

    A timestamp of the future tells of a clock and of no age: it would keep all that follow for ever. Such a change is
    as old as the next one of its partition, which came after it; where there is none yet, it is young.
    """
    is_future = pl.col(TIME) > now
    next_time = pl.when(is_future).then(None).otherwise(pl.col(TIME)).backward_fill().over(PARTITION)
    ordered = changes.sort(PARTITION, OFFSET).with_columns(next_time.alias("next_time"))
    return ordered.filter(pl.col("next_time").fill_null(now) >= now - retention)
