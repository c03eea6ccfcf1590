"""What the report of a run says of refused records, told from a quarantine in memory."""

from typing import cast

import pyarrow as pa
import pytest

from lakehouse.cli.context import Context
from lakehouse.cli.reports.quarantine_report import show_quarantined
from lakehouse.orchestration.resources import Lake

COLUMNS = ("partition", "offset", "reason", "message")


class Quarantine:
    """A table in memory, where a lake's would be; its columns come in an order of their own."""

    def __init__(self, *rows: tuple[int, int, str, str]) -> None:
        records = [dict(reversed(list(zip(COLUMNS, row, strict=True)))) for row in rows]
        types = [("message", pa.string()), ("reason", pa.string()), ("offset", pa.int64()), ("partition", pa.int32())]
        self.rows = pa.Table.from_pylist(records, schema=pa.schema(types))

    def arrow(self, name: str, *, columns: list[str]) -> pa.Table:
        assert (name, set(columns)) == ("quarantine.birds", set(COLUMNS))
        return self.rows


def shown(capsys: pytest.CaptureFixture[str], *rows: tuple[int, int, str, str]) -> list[str]:
    lake = cast("Lake", Quarantine(*rows))
    show_quarantined(Context(), lake, ["quarantine.birds"], COLUMNS, ["partition", "offset"])
    lines = [line.strip("│ ") for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    return [" ".join(line.replace("│", " ").split()) for line in lines]


def test_rows_come_in_order_each_with_its_place_and_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, (1, 3, "not_json", "it [is] no JSON"), (0, 9, "too_late", "after its delete")) == [
        "quarantine.birds 0:9 too_late after its delete",
        "quarantine.birds 1:3 not_json it [is] no JSON",
    ]


def test_of_many_the_first_are_shown_and_the_rest_counted(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, *((0, offset, "not_json", "no JSON") for offset in range(1_025)))
    assert len(lines) == 21
    assert lines[-1] == "quarantine.birds … and 1,005 more"


def test_nothing_refused_is_nothing_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys) == []
