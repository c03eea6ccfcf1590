"""The demo's mirror is declared for what the simulator sends: every message decodes, in either format."""

from functools import cache
from itertools import pairwise
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from lakehouse.declarations import Changelog, Debezium, Dms, Mirror, Table, arrow_schema
from lakehouse.declarations.registry.files import declared_in
from lakehouse.demo import Disorder, flight_changes
from lakehouse.demo.change_delivery import LATENESS
from lakehouse.demo.change_history import KEY
from lakehouse.formats.changes import ChangeDecoder
from lakehouse.formats.changes.facts import ChangeTable
from lakehouse_tests.settings.test_loading import REPOSITORY

pytestmark = pytest.mark.slow

DECLARATIONS = REPOSITORY / "conf" / "declarations"
FORMATS = {"debezium": Debezium(), "dms": Dms()}


def declared(file: Path) -> object:
    return declared_in(file)[0]


@pytest.fixture(scope="module")
def mirror() -> Mirror:
    value = declared(DECLARATIONS / "streams" / "flight_changes.py")
    assert isinstance(value, Mirror)
    return value


@pytest.fixture(scope="module")
def changelog(mirror: Mirror) -> Changelog:
    assert isinstance(mirror.changelog, Changelog)
    return mirror.changelog


@cache
def decoded(changelog: Changelog, message_format: str) -> pl.DataFrame:
    """Rows of the changelog, in the order of sending; tombstones left out."""
    schema = arrow_schema(changelog.table.without_coordinates())
    table = ChangeTable(schema=schema, sources=frozenset([changelog.source]))
    records = list(flight_changes(message_format=message_format, days=20))
    values, keys = (pa.array([getattr(record, part) for record in records], pa.binary()) for part in ("value", "key"))
    routed = ChangeDecoder(FORMATS[message_format], {changelog.name: table}).decode(values, keys)
    assert not routed.errors
    assert len(routed.parts[changelog.name].rows) == len(records)
    return pl.DataFrame(pl.from_arrow(routed.parts[changelog.name].batch)).filter(pl.col("operation") != "tombstone")


def test_the_row_is_that_of_the_other_table_of_flights(changelog: Changelog):
    raw = declared(DECLARATIONS / "tables" / "flights.py")
    assert isinstance(raw, Table)
    assert [(c.name, c.type, c.required) for c in changelog.columns] == [
        (c.name, c.type, c.required) for c in raw.columns
    ]
    assert changelog.key == raw.key == KEY


def test_the_mirror_waits_as_long_as_the_simulator_holds_back(mirror: Mirror):
    assert mirror.lateness == LATENESS == Disorder().by


@pytest.mark.parametrize("message_format", ["debezium", pytest.param("dms", marks=pytest.mark.soak)])
def test_every_message_is_a_row_in_the_order_of_its_position(changelog: Changelog, message_format: str):
    rows = decoded(changelog, message_format)
    assert set(rows["operation"]) == {"insert", "update", "delete"}
    places = [tuple(position.values()) for position in rows["position"]]
    assert all(before < after for before, after in pairwise(places))
    assert rows["source_time"].is_sorted()
    assert rows.select(pl.col("key", "transaction_id", "source_time").is_null().any()).row(0) == (False,) * 3


def test_both_formats_are_the_same_rows(changelog: Changelog):
    same = ["operation", "key", "after", "source", "transaction_id", "source_time"]
    assert decoded(changelog, "debezium").select(same).equals(decoded(changelog, "dms").select(same))
