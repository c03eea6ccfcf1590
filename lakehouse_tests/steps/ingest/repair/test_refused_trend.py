"""What a stream has refused is counted by day and reason, of the days that are asked for."""

from datetime import UTC, date, datetime, timedelta

import pytest

from lakehouse.declarations import Stream, ToTable
from lakehouse.protocol.catalog import open_catalog
from lakehouse.steps.ingest.repair.refused_trend import RefusedDay, refused_by_day
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.ingest import in_process
from lakehouse_tests.steps.ingest.conftest import THINGS
from lakehouse_tests.steps.ingest.in_process import InProcess

BROKEN, FIELDLESS, GOOD = (None, b"broken"), (None, b'{"text": "x"}'), (None, b'{"id": 1}')


def test_by_day_and_reason(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    declared = Stream(name="things", topic="things", route=ToTable("raw.things"), max_quarantine_share=1)
    things = InProcess(open_catalog(sql_lake.settings), declared)
    things.declare(declare(THINGS, name="raw.things").with_coordinates())

    def counted(days: int) -> list[RefusedDay]:
        table = things.load("quarantine.things")
        head = table.current_snapshot()
        return refused_by_day(table, head.snapshot_id if head else None, days, today=date(2026, 3, 3))

    assert counted(9) == []
    moment = datetime(2026, 3, 1, 23, 59, 59, tzinfo=UTC)
    for records in ([BROKEN, FIELDLESS, BROKEN], [BROKEN, GOOD], [FIELDLESS], [BROKEN]):
        monkeypatch.setattr(in_process, "BEGAN", moment)
        things.ingest({0: records})
        moment += timedelta(days=1)
    first = [RefusedDay(date(2026, 3, 1), "missing_field", 1), RefusedDay(date(2026, 3, 1), "not_json", 2)]
    last = [RefusedDay(date(2026, 3, 2), "not_json", 1), RefusedDay(date(2026, 3, 3), "missing_field", 1)]
    assert counted(9) == counted(3) == [*first, *last]
    assert counted(2) == last
