"""What the report of a run says of the demo's flights, told from tables alone."""

from typing import cast

import pyarrow as pa
import pytest

from lakehouse.cli.reports.demo_report import flights_line, mirror_line
from lakehouse.demo import BROKEN_FLIGHTS
from lakehouse.orchestration.resources import Lake


class Tables:
    """Tables in memory, where a lake's would be."""

    def __init__(self, **tables: pa.Table) -> None:
        self.tables = {name.replace("__", "."): table for name, table in tables.items()}

    def arrow(self, name: str, *, columns: list[str], where: str | None = None) -> pa.Table:
        return self.tables[name].select(columns)


def lake_with(changes: list[tuple[str, int]], rows: int) -> Lake:
    operations, flights = zip(*changes, strict=True)
    keys = pa.array([{"carrier": "UA", "flight": flight} for flight in flights])
    changelog = pa.table({"operation": pa.array(operations), "key": keys})
    return cast("Lake", Tables(changelog__flights=changelog, mirror__flights=pa.table({"carrier": ["UA"] * rows})))


@pytest.mark.parametrize(
    ("changes", "rows", "message"),
    [
        ([("insert", 1), ("insert", 2), ("delete", 2)], 1, "2 flights scheduled = 1 rows in mirror.flights + 1 "),
        ([("insert", 1), ("insert", 2)], 1, "2 flights scheduled ≠ 1 rows in mirror.flights + 0 "),
        # Sent twice, a flight is one flight still.
        ([("insert", 1), ("delete", 1), ("insert", 1), ("delete", 1)], 0, "1 flights scheduled = 0 rows in "),
    ],
)
def test_scheduled_flights_are_in_the_mirror_or_cancelled(changes: list[tuple[str, int]], rows: int, message: str):
    line = mirror_line(lake_with(changes, rows))
    assert line.startswith(message)
    assert line.endswith(" cancelled and deleted")


def test_flights_are_in_their_table_or_in_quarantine():
    kept = [BROKEN_FLIGHTS[0].value, b"a flight that should not be here"]
    tables = Tables(raw__flights=pa.table({"year": [2013] * 5}), quarantine__flights=pa.table({"value": kept}))
    assert flights_line(cast("Lake", tables)) == (
        "6 flights of 2013 = 5 rows in raw.flights + 1 in quarantine (the other 1 there were broken on purpose)"
    )
