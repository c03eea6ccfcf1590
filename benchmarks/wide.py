"""The table of the benchmark of rules: 40 columns and 60 rules on them, most of which every row keeps."""

import datetime as dt
from typing import Any

import numpy as np
import pandera.pyspark as pandera
import pyarrow as pa
from pandera.api.checks import Check
from pyspark.sql import types as t

from lakehouse.declarations import Table

COLUMNS, RULES = 40, 60
_KINDS = ("amount", "share", "code", "day")
_EACH = COLUMNS // len(_KINDS)
_FIRST_DAY = dt.date(2013, 1, 1)
# The first of each kind has rows that break its first rule.
_BROKEN_SHARE = 0.001


def _checks(kind: str, place: int) -> list[Check]:
    """One or two rules a column, 60 in all; every built-in kind of rule is among them."""
    match kind:
        case "amount":
            checks = [Check.in_range(0, 1000), Check.notin([-1, -2])]
        case "share":
            checks = [Check.ge(0.0), Check.lt(1.5)]
        case "code":
            checks = [Check.str_matches("^[A-Z]{2}[0-9]{4}$"), Check.str_length(6, 6)]
        case _:
            checks = [Check.ge(_FIRST_DAY), Check.le(dt.date(2013, 12, 31))]
    return checks if place < _EACH // 2 else checks[:1]


def wide_table(name: str, *, metrics: bool) -> Table:
    """The declaration.

    Args:
        name: of the table.
        metrics: whether its manifests hold bounds and counts; without them every rule has to be scanned.
    """
    types = {"amount": t.IntegerType(), "share": t.DoubleType(), "code": t.StringType(), "day": t.DateType()}
    columns: dict[str, Any] = {
        f"{kind}_{n}": pandera.Column(types[kind], _checks(kind, n), nullable=True)
        for kind in _KINDS
        for n in range(_EACH)
    }
    assert len(columns) == COLUMNS
    assert sum(len(column.checks) for column in columns.values()) == RULES
    return Table(
        name=name,
        schema=pandera.DataFrameSchema(columns),
        description="Forty columns.",
        owner="benchmark",
        properties={} if metrics else {"write.metadata.metrics.default": "none"},
    )


def wide_rows(rows: int, seed: int = 7) -> pa.Table:
    """Random rows, the same for the same seed."""
    random = np.random.default_rng(seed)
    columns: dict[str, pa.Array] = {}
    for n in range(_EACH):
        broken = random.random(rows) < (_BROKEN_SHARE if n == 0 else 0)
        numbers = random.integers(0, 1000, rows)
        letters = np.char.add(random.choice(["AA", "DL", "UA"], rows), np.char.zfill(numbers.astype("U4"), 4))
        columns[f"amount_{n}"] = pa.array(np.where(broken, 5000, numbers).astype("int32"))
        columns[f"share_{n}"] = pa.array(np.where(broken, -1.0, random.random(rows)))
        columns[f"code_{n}"] = pa.array(np.where(broken, "broken", letters), pa.string())
        days = np.where(broken, -400, numbers % 365).astype("timedelta64[D]")
        columns[f"day_{n}"] = pa.array(np.datetime64(_FIRST_DAY) + days, pa.date32())
    return pa.table({f"{kind}_{n}": columns[f"{kind}_{n}"] for kind in _KINDS for n in range(_EACH)})
