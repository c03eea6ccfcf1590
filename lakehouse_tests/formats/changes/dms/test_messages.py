"""AWS DMS's messages."""

import datetime as dt
from typing import Any

import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import Dms
from lakehouse_tests.formats.changes.decoding import changelog, decode, position

ROW = {"id": 1, "text": "one"}
LOG = changelog(format=Dms())


def dms(operation: str, data: Any = None, *, before: Any = None, kind: str = "data", **more: Any) -> dict[str, Any]:
    metadata = {
        "timestamp": "2019-07-23T13:33:13.123456Z",
        "record-type": kind,
        "operation": operation,
        "partition-key-type": "primary-key",
        "schema-name": "public",
        "table-name": "things",
        "transaction-id": 12884904641,
        **{name.replace("_", "-"): value for name, value in more.items()},
    }
    return {"metadata": metadata, **({"data": data} if data else {}), **({"before": before} if before else {})}


PLACE: dict[str, Any] = {"stream_position": "00000002/0A3C9B90.3.00000002/0A3C9B90", "transaction_record_id": 3}
LSN = (2 << 32) | 0x0A3C9B90


def test_a_change_is_normalised() -> None:
    row = decode([dms("update", ROW, before={"id": 1}, **PLACE, commit_timestamp="2019-07-23T13:33:12Z")], LOG).only()
    assert (row["operation"], row["key"], row["after"]) == ("update", {"id": 1}, ROW)
    assert row["before"] == {"id": 1, "text": None}
    assert (row["source"], row["transaction_id"]) == ("public.things", "12884904641")
    assert row["source_time"] == dt.datetime(2019, 7, 23, 13, 33, 12, tzinfo=dt.UTC)
    assert position(row) == (0, LSN, 3)


def test_the_row_that_a_delete_removed_is_before_it() -> None:
    row = decode([dms("delete", ROW, **PLACE)], LOG).only()
    assert (row["operation"], row["key"], row["before"], row["after"]) == ("delete", {"id": 1}, ROW, None)


def test_a_full_load_is_older_than_every_change() -> None:
    row = decode([dms("load", ROW)], LOG).only()
    assert (row["operation"], position(row)) == ("read", (0, 0, 1_563_888_793_123_456))


@pytest.mark.parametrize(
    ("text", "commit"),
    [
        ("00000002/0A3C9B90", LSN),
        ("2/A3C9B90", LSN),
        ("mysql-bin-changelog.000024:373", (24 << 40) | 373),
        ("mysql-bin-changelog.000024.373.0", (24 << 40) | 373),
        ("77", 77),
        (77, 77),
    ],
)
def test_stream_positions(text: Any, commit: int) -> None:
    assert position(decode([dms("insert", ROW, stream_position=text)], LOG).only()) == (0, commit, 0)


@pytest.mark.parametrize("text", [None, "", "x", "FFFFFFFF/0", -1, 1.5, {}, str(2**63), "2019-07-23"])
@pytest.mark.parametrize(("operation", "kind"), [("insert", "data"), ("truncate-table", "control")])
def test_without_a_position_a_change_goes_to_quarantine(text: Any, operation: str, kind: str) -> None:
    assert decode([dms(operation, ROW, kind=kind, stream_position=text)], LOG).error() == "unknown_position"


def test_control_records() -> None:
    decoded = decode([dms("truncate-table", kind="control", **PLACE), dms("create-table", kind="control")], LOG)
    assert [(row["operation"], position(row)) for row in decoded.rows.values()] == [
        ("truncate", (0, LSN, 3)),
        ("control", None),
    ]


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (dms("upsert", ROW, **PLACE), "unknown_operation"),
        (dms("insert", ROW, kind="other", **PLACE), "unknown_operation"),
        (dms("create-table", ROW, **PLACE), "unknown_operation"),
        ({"data": ROW}, "unknown_operation"),
        ({}, "unknown_operation"),
        (dms("insert", **PLACE), "missing_field"),
        (dms("insert", {"text": "x"}, **PLACE), "missing_key"),
        (dms("insert", {"id": None}, **PLACE), "null_in_key"),
        (dms("insert", {"id": "x"}, **PLACE), "wrong_type"),
        (dms("insert", {"id": str(2**63)}, **PLACE), "out_of_range"),
    ],
)
def test_what_is_refused(message: Any, error: str) -> None:
    assert decode([message], LOG).error() == error


def test_undeclared_columns_are_kept() -> None:
    assert decode([dms("insert", {**ROW, "new": 1}, **PLACE)], LOG).only()["extra"] == '{"new":1}'


def test_several_changelogs_on_one_topic() -> None:
    logs = [changelog(name=f"cdc.{name}", source=f"public.{name}", format=Dms()) for name in ("others", "things")]
    decoded = decode([dms("insert", ROW, **PLACE), dms("insert", ROW, table_name="x", **PLACE)], *logs)
    assert (decoded.tables, decoded.errors[1][0]) == ({0: "cdc.things"}, "unknown_source")


def test_text_that_is_no_number_goes_to_quarantine_without_a_word_of_it() -> None:
    columns = {"id": T.LongType(), "f": T.FloatType(), "d": T.DoubleType(), "l": T.LongType()}
    log = changelog(columns, format=Dms())
    for name, text in (
        ("f", "2024-01-01"),
        ("f", "12abc"),
        ("f", "1,5"),
        ("d", "1e"),
        ("l", "9" * 5000),
        ("d", "1e400"),
    ):
        decoded = decode([dms("insert", {"id": 1, name: text}, **PLACE)], log)
        assert decoded.error() in ("wrong_type", "out_of_range"), (name, text)
        assert text not in str(decoded.errors)
