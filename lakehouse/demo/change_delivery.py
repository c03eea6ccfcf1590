"""In which order changes are delivered: as they happened, or late, twice and the wrong way round, within a bound."""

from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import polars as pl

from lakehouse.demo.change_history import CANCELLED

LATENESS = timedelta(days=2)
"""How late a change may be unless told otherwise; the demo's mirror declares the same."""

_PURPOSES = _HELD_BACK, _TWICE, _BACKWARDS = range(3)


@dataclass(frozen=True, kw_only=True)
class Disorder:
    """What goes wrong on the way, the same for the same seed.

    Attributes:
        late: share of the changes that are held back.
        duplicates: share of the changes that are delivered again.
        out_of_order: share of the flights whose changes are told in reverse, once the last has happened.
        by: how long after newer changes, by the source's clock, a change may still arrive; flights whose changes lie
            further apart come in order.
        seed: another one, another disorder.
    """

    late: float = 0.0
    duplicates: float = 0.0
    out_of_order: float = 0.0
    by: timedelta = LATENESS
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what has no meaning.

        Raises:
            ValueError: says what.
        """
        for name in ("late", "duplicates", "out_of_order"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}, a share lies between 0 and 1")
        if self.by < timedelta(0) or self.seed < 0:
            raise ValueError("by and seed cannot be negative")


def delivered(history: pl.DataFrame, disorder: Disorder, *, tombstones: bool) -> pl.DataFrame:
    """Put changes into the order in which they are sent.

    What is sent by a certain moment does not depend on what follows it.

    Args:
        history: all changes in the source's order.
        disorder: what goes wrong.
        tombstones: each delete is followed by a message without value.

    Returns:
        One row per message: those of `history`, `delivered` (the time by the source's clock at which it is sent),
        `again` (whether it was sent before) and `tombstone`.
    """
    messages = _held_back(_backwards(history.with_columns(delivered="time"), disorder), disorder)
    messages = messages.with_columns(again=pl.lit(False))
    if disorder.duplicates:
        messages = pl.concat([messages, _again(messages, disorder)])
    messages = messages.with_columns(tombstone=pl.lit(False))
    if tombstones:
        deletes = messages.filter(pl.col("kind") == CANCELLED)
        messages = pl.concat([messages, deletes.with_columns(tombstone=pl.lit(True))])
    return messages.sort("delivered", "lsn", "again", "tombstone")


def _backwards(messages: pl.DataFrame, disorder: Disorder) -> pl.DataFrame:
    if not disorder.out_of_order:
        return messages.with_columns(backwards=pl.lit(False))
    flights = int(messages.select(pl.col("flight_row").max()).item() or 0) + 1
    chosen = pl.Series(_drawn(disorder, _BACKWARDS, flights)[0] < disorder.out_of_order)
    first, last = pl.col("time").min().over("flight_row"), pl.col("time").max().over("flight_row")
    marked = messages.with_columns(backwards=(last - first < disorder.by) & pl.lit(chosen).gather(pl.col("flight_row")))
    # Nothing is told before it happens: the last change comes in time, and those before it at once after it.
    turned = last + pl.duration(microseconds=pl.col("lsn").rank("ordinal", descending=True).over("flight_row"))
    return marked.with_columns(delivered=pl.when("backwards").then(turned).otherwise("delivered"))


def _held_back(messages: pl.DataFrame, disorder: Disorder) -> pl.DataFrame:
    """Hold back changes of the flights that are not out of order anyway."""
    if disorder.late:
        choice, length = _drawn(disorder, _HELD_BACK, messages.height)
        longer = pl.col("delivered") + pl.lit(pl.Series(length)) * pl.lit(disorder.by)
        is_held_back = ~pl.col("backwards") & pl.lit(pl.Series(choice < disorder.late))
        messages = messages.with_columns(delivered=pl.when(is_held_back).then(longer).otherwise("delivered"))
    return messages.drop("backwards")


def _again(messages: pl.DataFrame, disorder: Disorder) -> pl.DataFrame:
    """The second deliveries: after the first ones, and no later than a change may be."""
    choice, length = _drawn(disorder, _TWICE, messages.height)
    room = pl.col("time") + disorder.by - pl.col("delivered")
    return messages.with_columns(
        delivered=pl.col("delivered") + room * pl.lit(pl.Series(length)), again=pl.lit(True)
    ).filter(pl.Series(choice < disorder.duplicates))


def _drawn(disorder: Disorder, purpose: int, count: int) -> tuple["np.ndarray", "np.ndarray"]:
    """Two numbers between 0 and 1 for each of so many things: whether it is chosen, and how much."""
    random = np.random.default_rng([disorder.seed, purpose])
    return random.random(count), random.random(count)
