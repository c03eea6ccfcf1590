"""Several changelogs on one topic: each message goes to the one of its source table."""

import pickle
from typing import Any

import pyarrow as pa
import pytest

from lakehouse_tests.formats.changes.decoding import as_bytes, changelog, debezium, decode, decoder_of, wrapped

ROW = {"id": 1, "text": "one"}
LOGS = [changelog(name=f"cdc.{name}", source=f"public.{name}") for name in ("things", "others")]


@pytest.mark.parametrize("form", [lambda x: x, wrapped])
def test_a_change_goes_to_the_changelog_of_its_source_table(form: Any) -> None:
    decoded = decode([form(debezium("c", ROW, table=name)) for name in ("others", "things", "others", "x")], *LOGS)
    assert decoded.tables == {0: "cdc.others", 1: "cdc.things", 2: "cdc.others"}
    assert decoded.errors[3][0] == "unknown_source"


def test_control_records_go_where_they_belong_or_to_the_first() -> None:
    decoded = decode(
        [{"ts_ms": 1}, debezium("m", table=""), debezium("m", table="others"), {"status": "END", "id": "1"}], *LOGS
    )
    assert decoded.tables == {0: "cdc.things", 1: "cdc.things", 2: "cdc.others", 3: "cdc.things"}


@pytest.mark.parametrize(
    ("key", "table"),
    [
        (wrapped({"id": 1}, {"name": "shop.public.others.Key"}), "cdc.others"),
        (wrapped({"id": 1}, {"name": "public.things.Key"}), "cdc.things"),
        ({"id": 1, "__dbz__physicalTableIdentifier": "shop.public.others"}, "cdc.others"),
        (wrapped({"id": 1}, {"name": "shop.public.x.Key"}), None),
        (wrapped({"id": 1}, {"name": "shop.public.others"}), None),
        ({"id": 1}, None),
    ],
)
def test_a_tombstone_goes_where_its_key_says_or_to_quarantine(key: Any, table: str | None) -> None:
    decoded = decode([None, debezium("c", ROW)], *LOGS, keys=[key, None])
    if table is None:
        assert decoded.errors[0][0] == "unknown_source"
    else:
        assert (decoded.tables[0], decoded.rows[0]["operation"]) == (table, "tombstone")


def test_a_single_changelog_refuses_the_tombstone_of_another_table_that_the_key_names() -> None:
    keys = [wrapped({"id": 1}, {"name": f"shop.public.{name}.Key"}) for name in ("things", "others")]
    decoded = decode([None, None, None], LOGS[0], keys=[*keys, {"id": 1}])
    assert sorted(decoded.rows) == [0, 2]
    assert decoded.errors[1][0] == "unknown_source"


def test_decoders_travel() -> None:
    decoder = pickle.loads(pickle.dumps(decoder_of(*LOGS)))
    routed = decoder.decode(pa.array([as_bytes(debezium("c", ROW))], pa.binary()))
    assert list(routed.parts) == ["cdc.things"]
    assert decoder.decode(pa.array([], pa.binary())).parts == {}


def test_a_tombstone_without_a_key_is_of_the_table_that_has_none() -> None:
    keyless = changelog(name="cdc.readings", source="public.readings", key=())
    assert decode([None, debezium("c", ROW)], *LOGS, keyless, keys=[None, None]).tables[0] == "cdc.readings"
