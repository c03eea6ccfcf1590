"""The two tables of the source, and random values for each of their columns."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal

Key = tuple[int, ...]
Value = Callable[[random.Random], object]

EXACT = Context(prec=50)  # a decimal has up to 38 digits, Python's default rounds to 28
LARGE = 9000  # beyond what PostgreSQL keeps in a row: stored out of line, and not sent when it has not changed


def text(rng: random.Random) -> str:
    """Short, with what JSON and SQL have to escape."""
    return "".join(rng.choices("ab \"\\'\n\t{}%雪é", k=rng.randint(0, 12)))


def large_text(rng: random.Random) -> str:
    """Mostly large and random, so that compression does not bring it back into the row."""
    return rng.randbytes(LARGE // 2).hex() if rng.random() < 0.7 else text(rng)


def decimal(precision: int, scale: int) -> Value:
    """Any number of the type, the largest included."""
    return lambda rng: Decimal(rng.randint(1 - 10**precision, 10**precision - 1)).scaleb(-scale, EXACT)


def moment(rng: random.Random) -> datetime:
    """A time with microseconds, before and after 1970."""
    return datetime(1900, 1, 1) + timedelta(microseconds=rng.randrange(200 * 365 * 86_400_000_000))  # noqa: DTZ001


@dataclass
class SourceTable:
    """A table of the source, as the workload knows it.

    Attributes:
        name: without the schema.
        key: columns of the key, each with the number of values that are used.
        columns: the others: type in SQL, and how a value is made.
    """

    name: str
    key: dict[str, int]
    columns: dict[str, tuple[str, Value]]

    def keys(self, rng: random.Random, count: int) -> list[Key]:
        """Some keys that may or may not be in the table."""
        return list({tuple(rng.randint(1, size) for size in self.key.values()) for _ in range(count)})


def orders() -> SourceTable:
    """One table with a key of one column, and a column of every type."""
    return SourceTable(
        "orders",
        {"id": 60},
        {
            "name": ("text", text),
            "amount": ("numeric(12,2)", decimal(12, 2)),
            "rate": ("numeric(38,10)", decimal(38, 10)),
            "ratio": ("double precision", lambda rng: rng.choice([0.1, -1e300, 5e-324, rng.gauss(0, 1)])),
            "active": ("boolean", lambda rng: rng.random() < 0.5),
            "day": ("date", lambda rng: date(1900, 1, 1) + timedelta(days=rng.randrange(73_000))),
            "at": ("timestamp", moment),
            "at_zone": ("timestamptz", lambda rng: moment(rng).replace(tzinfo=UTC)),
            "note": ("text", large_text),
            "payload": ("bytea", lambda rng: rng.randbytes(rng.choice([0, 3, 4000]))),
        },
    )


def lines() -> SourceTable:
    """One with a key of two columns."""
    return SourceTable(
        "lines",
        {"order_id": 12, "line": 4},
        {
            "sku": ("text", text),
            "quantity": ("integer", lambda rng: rng.randint(-(2**31), 2**31 - 1)),
            "price": ("numeric(12,2)", decimal(12, 2)),
            "remark": ("text", large_text),
        },
    )
