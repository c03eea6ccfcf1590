"""What messages call a column may be anything; the table keeps the name that was declared."""

import json
import pickle
from typing import Any

import pandera.pyspark as pandera
import polars as pl
import pyarrow as pa
import pyspark.sql.types as T  # noqa: N812
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.declarations import Changelog, Debezium, DeclarationError, Dms, Flat
from lakehouse.formats.json.decoder import JsonDecoder
from lakehouse.formats.json.routed import RoutedDecoder
from lakehouse.formats.source_names import parser_name
from lakehouse.steps.cdc.replay.changes import _image
from lakehouse_tests.formats.changes.decoding import changelog, debezium, decode, decoder_of, wrapped
from lakehouse_tests.formats.changes.dms.test_messages import PLACE, dms

SPACED, QUOTED = "unit price", "the \"id\" \\ of '№1'\n"
SCHEMA = pa.schema([("number", pa.int64()), ("price", pa.int64())])
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)


def aliased(**more: Any) -> Changelog:
    """A changelog whose key has quotes in its name, and whose other column has a space."""
    row = pandera.DataFrameSchema(
        {
            "number": pandera.Column(T.LongType(), nullable=False, metadata={"alias": QUOTED}),
            "price": pandera.Column(T.StringType(), nullable=True, metadata={"alias": SPACED}),
            "other": pandera.Column(T.StringType(), nullable=True),
        }
    )
    return changelog(row=row, key=("number",), **more)


@given(NAMES, NAMES.filter(lambda name: name != "number"), st.integers(0, 2**40))
def test_any_name(first: str, second: str, value: int) -> None:
    aliases = {"price": second} if first in (second, "price") else {"number": first, "price": second}
    record = {aliases.get("number", "number"): value, second: value + 1}
    decoder = pickle.loads(pickle.dumps(JsonDecoder(SCHEMA, aliases)))
    decoded = decoder.decode(pa.array([json.dumps(record).encode()], pa.binary()))
    assert not decoded.errors
    assert decoded.batch.to_pylist() == [{"number": value, "price": value + 1}]
    assert decoded.batch.schema.equals(SCHEMA)


def test_an_error_speaks_of_what_the_message_says() -> None:
    required = pa.schema([SCHEMA.field(0), SCHEMA.field(1).with_nullable(False)])
    decoder = JsonDecoder(required, {"price": SPACED})
    values = [b'{"number": 1, "price": 2}', b'{"number": 1, "unit price": "x"}']
    errors = decoder.decode(pa.array(values, pa.binary())).errors
    assert ["`unit price`" in error.message for error in errors.values()] == [True, True]


def test_a_member_called_as_what_stands_for_a_quote_is_no_column() -> None:
    decoder = JsonDecoder(SCHEMA, {"price": 'the "price"'})
    stand_in = parser_name('the "price"')
    values = [{"number": 1, stand_in: 5}, {"number": 2, 'the "price"': 3, stand_in: 4}]
    spellings = [json.dumps(value, ensure_ascii=plain).encode() for value in values for plain in (True, False)]
    decoded = decoder.decode(pa.array(spellings, pa.binary()))
    assert [row["price"] for row in decoded.batch.to_pylist()] == [None, None, 3, 3]


def test_a_field_that_routes_may_be_a_column_of_another_name() -> None:
    schema = pa.schema([("number", pa.int64()), ("kind", pa.string())])
    aliases = {"a": {"number": QUOTED, "kind": "the kind"}, "b": {}}
    decoder = pickle.loads(pickle.dumps(RoutedDecoder("the kind", {"a": schema, "b": SCHEMA}, aliases)))
    values = [{QUOTED: 1, "the kind": "a"}, {"number": 2, "price": 3, "the kind": "b"}]
    parts = decoder.decode(pa.array([json.dumps(value).encode() for value in values], pa.binary())).parts
    assert parts["a"].batch.to_pylist() == [{"number": 1, "kind": "a"}]
    assert parts["b"].batch.to_pylist() == [{"number": 2, "price": 3}]


def test_changes_of_debezium() -> None:
    log = aliased()
    after = {QUOTED: 1, SPACED: "2", "other": "x", "price": "not this one"}
    messages = [
        debezium("c", after),
        wrapped(debezium("u", {**after, SPACED: "__debezium_unavailable_value"})),
        debezium("d", before={QUOTED: 1, SPACED: None, "other": None}),
        None,
    ]
    decoded = decode(messages, log, keys=[{QUOTED: 1}] * 4)
    assert not decoded.errors
    created, updated, deleted, tombstone = decoded.rows.values()
    assert created["after"] == {"number": 1, "price": "2", "other": "x"}
    assert json.loads(created["extra"]) == {"price": "not this one"}
    assert (updated["unavailable"], updated["after"]["price"]) == (["price"], None)
    assert deleted["before"] == {"number": 1, "price": None, "other": None}
    assert [row["key"] for row in (created, updated, deleted, tombstone)] == [{"number": 1}] * 4
    assert decode([debezium("c", {"number": 1})], log).error() == "missing_key"


@pytest.mark.parametrize("form", [Dms(), Flat()], ids=["dms", "flat"])
def test_changes_of_dms_and_flat_ones(form: Any) -> None:
    image = {QUOTED: 1, SPACED: "2", "other": None}
    message = dms("insert", image, **PLACE) if isinstance(form, Dms) else {**image, "__op": "c", "__source_lsn": 5}
    row = decode([message], aliased(format=form)).only()
    assert (row["key"], row["after"]) == ({"number": 1}, {"number": 1, "price": "2", "other": None})


def test_what_was_sent_before_a_column_was_declared_is_found_by_its_alias() -> None:
    after = pl.Series("after", [{"number": 1}, {"number": 2}])
    frame = pl.DataFrame([after, pl.Series("extra", ['{"unit price": "x", "price": "y"}', None])])
    columns = {"number": pl.Int64(), "price": pl.String()}
    image = frame.select(_image(frame, columns, {"price": pl.String()}, {"price": SPACED}).alias("_"))["_"]
    assert image.to_list() == [{"number": 1, "price": "x"}, {"number": 2, "price": None}]


def test_what_is_said_of_messages_has_the_names_of_messages() -> None:
    """Also within fields that nobody declared, and in values, where such a name is left alone."""
    after = {QUOTED: 1, SPACED: f"{QUOTED}: 1", "other": None}
    unknown = {"note": {QUOTED: [{QUOTED: f'"{QUOTED}": 2'}]}}
    row = decode([debezium("c", {**after, **unknown})], aliased()).only()
    assert row["after"]["price"] == f"{QUOTED}: 1"
    assert json.loads(row["extra"]) == unknown
    ((_, message),) = decode([debezium("c", {**after, QUOTED: "x"})], aliased()).errors.values()
    assert f"after.{QUOTED}" in message
    ((_, message),) = decode([None], aliased(), keys=[{"number": 1}]).errors.values()
    assert f"`{QUOTED}`" in message
    required = pa.schema([SCHEMA.field(0), SCHEMA.field(1).with_nullable(False)])
    decoded = JsonDecoder(required, {"price": QUOTED}).decode(pa.array([b'{"number": 1}'], pa.binary()))
    assert f"`{QUOTED}`" in decoded.errors[0].message


@pytest.mark.parametrize("escaped", [True, False])
def test_letters_for_private_use_stay_what_they_are(escaped: bool) -> None:
    """As icons have them, also in what nobody declared."""
    unknown = {"icon": "\uf022 \uf05c", "n\uf022": ["\uf022"], "quoted": parser_name(QUOTED)}
    after = {QUOTED: 1, SPACED: "\uf022", "other": None, **unknown}
    message = json.dumps(debezium("c", after), ensure_ascii=escaped).encode()
    row = decode([message], aliased()).only()
    assert (row["key"], row["after"]["price"]) == ({"number": 1}, "\uf022")
    assert json.loads(row["extra"]) == unknown


def test_quoted_names_of_a_format_and_of_a_schema() -> None:
    log = aliased(format=Debezium(ignored=('left "out"',)))
    fields = [{"field": QUOTED, "type": "int64"}, {"field": SPACED, "type": "int32"}]
    schema = {"type": "struct", "fields": [{"type": "struct", "field": "after", "fields": fields}]}
    image = {QUOTED: 1, SPACED: "2", 'left "out"': 3}
    plain, typed = debezium("c", image), wrapped(debezium("c", {QUOTED: 1, SPACED: 2}), schema)
    assert decode([plain], log).only()["extra"] is None
    ((_, message),) = decode([typed], log).errors.values()
    assert "int32" in message, "the schema is found"


def test_keys_of_refused_messages_and_of_changed_keys() -> None:
    log = aliased()
    value, key = (json.dumps(part).encode() for part in (debezium("c", {QUOTED: 7, SPACED: 2}), {QUOTED: 7}))
    refused = decoder_of(log).refused("cdc.things", [value, value], [None, key], [0, 1])
    assert [column.to_pylist() for column in refused.columns] == [[7, 7]]
    moved = decode(
        [debezium("d", before={QUOTED: 1})], log, keys=[{QUOTED: 1}], headers=[{"__debezium.newkey": {QUOTED: 2}}]
    )
    assert moved.only()["other_key"] == {"number": 2}


@pytest.mark.parametrize("alias", [3, "a\ud800"])
def test_an_alias_that_no_message_has_is_refused(alias: Any) -> None:
    column = pandera.Column(T.LongType(), nullable=True, metadata={"alias": alias})
    with pytest.raises(DeclarationError, match="cannot be an alias"):
        changelog(row=pandera.DataFrameSchema({"a": column}), key=())


def test_two_columns_of_one_source_name_are_refused() -> None:
    twins = {name: pandera.Column(T.LongType(), nullable=True, metadata={"alias": "x y"}) for name in ("a", "b")}
    with pytest.raises(DeclarationError, match="'a' and 'b' are both called 'x y' by messages"):
        changelog(row=pandera.DataFrameSchema(twins), key=())
