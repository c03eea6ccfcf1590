"""Ten ways in which records change in the middle of a stream, and what each policy makes of them, of JSON and Avro."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse import seal_keys
from lakehouse.declarations import Avro, ByField, Evolution, Stream, ToTable
from lakehouse.formats.frames import RegistrySchemas, WriterSchema
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.base import read_bases
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.formats.avro.writing import encoded, record
from lakehouse_tests.steps.ingest.in_process import InProcess

INNER: dict[str, Any] = {"type": "record", "name": "Inner", "fields": [{"name": "a", "type": "int"}]}
WIDER = {"type": "record", "name": "Inner", "fields": [*INNER["fields"], {"name": "b", "type": "string"}]}
FIRST = {"id": "long", "count": "int", "note": "string", "inner": INNER}
RECORD = {"id": 1, "count": 1, "note": "n", "inner": {"a": 1}}
COLUMNS = {
    "id": pandera.Column(T.LongType(), nullable=False),
    "count": pandera.Column(T.IntegerType(), nullable=False),
    "note": pandera.Column(T.StringType(), nullable=False),
    "inner": pandera.Column(T.StructType([T.StructField("a", T.IntegerType())]), nullable=True),  # type: ignore[arg-type]
}
TABLE = "raw.things"


@dataclass(frozen=True)
class Change:
    """Records as they are from some day on, and what becomes of the table.

    Attributes:
        schema: field → Avro type.
        record: one of them.
        policy: of the table.
        row: what is new or other in its row; None where it goes to quarantine.
        columns: column → type, that are new or other in the table.
    """

    schema: Mapping[str, Any]
    record: Mapping[str, Any]
    policy: Mapping[str, Any] = field(default_factory=dict[str, Any])
    row: Mapping[str, Any] | None = None
    columns: Mapping[str, str] = field(default_factory=dict[str, str])


def without(mapping: Mapping[str, Any], name: str, **more: Any) -> dict[str, Any]:
    return {**{key: value for key, value in mapping.items() if key != name}, **more}


RENAMED = (without(FIRST, "note", title="string"), without(RECORD, "note", title="t"))
RETYPED = ({**FIRST, "count": "string"}, {**RECORD, "count": "many"})
NULL = ({**FIRST, "note": ["null", "string"]}, {**RECORD, "note": None})
REMOVED = (without(FIRST, "note"), without(RECORD, "note"))
ADDED = ({**FIRST, "more": ["null", "string"]}, {**RECORD, "more": "m"})
WIDENED = ({**FIRST, "count": "long"}, {**RECORD, "count": 2**40})
CASE = ({**FIRST, "Note": "string"}, {**RECORD, "Note": "N"})
MAY_BE_NULL = {"make_optional": True}
CHANGES = {
    "added": Change(*ADDED, row={"more": "m"}, columns={"more": "string"}),
    "added, not wanted": Change(*ADDED, policy={"add": False}, row={}),
    "widened": Change(*WIDENED, row={"count": 2**40}, columns={"count": "long"}),
    "widened, not wanted": Change(*WIDENED, policy={"widen": False}),
    "optional": Change(*NULL, policy=MAY_BE_NULL, row={"note": None}),
    "optional, not wanted": Change(*NULL),
    "nested": Change(
        {**FIRST, "inner": WIDER},
        {**RECORD, "inner": {"a": 2, "b": "x"}},
        row={"inner": {"a": 2, "b": "x"}},
        columns={"inner": "struct<9: a: optional int, 10: b: optional string>"},
    ),
    "renamed": Change(*RENAMED, policy=MAY_BE_NULL, row={"title": "t", "note": None}, columns={"title": "string"}),
    "renamed, quarantine": Change(*RENAMED, policy={"add": False}),
    "narrowed": Change({**FIRST, "id": "int"}, {**RECORD, "id": 7}, row={"id": 7}),
    "retyped, quarantine": Change(*RETYPED),
    "retyped, second column": Change(
        *RETYPED,
        policy={"otherwise": "second_column"},
        row={"count": None, "count_string": "many"},
        columns={"count_string": "string"},
    ),
    "retyped, stopped": Change(*RETYPED, policy={"otherwise": "stop_table"}),
    "reordered": Change(dict(reversed(FIRST.items())), dict(reversed(RECORD.items())), row={}),
    "case": Change(*CASE, row={"Note_2": "N"}, columns={"Note_2": "string"}),
    "removed": Change(*REMOVED, policy=MAY_BE_NULL, row={"note": None}),
    "removed, quarantine": Change(*REMOVED),
}


def stream_of(folder: Path, *, avro: bool, **policy: Any) -> InProcess:
    form = Avro(registry=True) if avro else "json"
    declared = Stream(name="things", topic="t", route=ToTable(TABLE), format=form, max_quarantine_share=1.0)
    made = InProcess(open_catalog(sql_settings(folder)), declared, schemas=RegistrySchemas() if avro else None)
    made.declare(declare(dict(COLUMNS), evolution=Evolution(**policy)).with_coordinates())
    return made


def send(stream: InProcess, *records: tuple[Mapping[str, Any], Mapping[str, Any]]) -> None:
    """Records, each with its schema, arrive."""
    values: list[bytes] = []
    for schema, fields in records:
        if stream.schemas is None:
            values.append(json.dumps(fields).encode())
            continue
        text = record(*schema.items())
        known = dict(stream.schemas.texts)
        number = next((n for n, texts in known.items() if texts == (text,)), len(known) + 1)
        stream.schemas = RegistrySchemas({**stream.schemas.schemas, number: WriterSchema(text)})
        values.append(b"\x00" + int(number).to_bytes(4, "big") + encoded(text, dict(fields)))
    stream.ingest({0: [(None, value) for value in values]})


def columns_of(stream: InProcess) -> dict[str, str]:
    return {column.name: str(column.field_type) for column in stream.load(TABLE).schema().fields}


@pytest.mark.parametrize("avro", [False, True], ids=["json", "avro"])
@pytest.mark.parametrize("name", CHANGES)
def test_records_change_in_the_middle_of_a_stream(tmp_path: Path, name: str, avro: bool) -> None:
    change = CHANGES[name]
    stream = stream_of(tmp_path, avro=avro, **change.policy)
    send(stream, (FIRST, RECORD))
    before = columns_of(stream)
    send(stream, (FIRST, RECORD), (change.schema, change.record))
    after = columns_of(stream)
    assert {n: kind for n, kind in after.items() if before.get(n) != kind} == dict(change.columns)
    stopped = change.policy.get("otherwise") == "stop_table"
    assert stream.quarantined() == ([(0, 1), (0, 2)] if stopped else [] if change.row is not None else [(0, 2)])
    nothing = dict.fromkeys(set(after) - set(before))
    rows = [{**RECORD, **nothing}] * (1 if stopped else 2)
    if change.row is not None:
        rows.append({**change.record, **nothing, **change.row})
    if "b" in str(change.row):
        rows = [{**row, "inner": {"b": None, **row["inner"]}} for row in rows]
    names = [n for n in after if not n.startswith("_kafka")]
    assert stream.rows(TABLE, *names) == [{n: row[n] for n in names} for row in rows]
    assert stream.holds().read == 3
    send(stream, (FIRST, RECORD))  # a record as before is taken as before, where the table has not stopped
    assert columns_of(stream) == after
    assert stream.holds().read == 4


def test_one_whose_table_has_stopped_waits_and_the_other_tables_go_on(tmp_path: Path) -> None:
    route = ByField("kind", {"a": TABLE, "b": "raw.others"})
    declared = Stream(name="things", topic="t", route=route, max_quarantine_share=0.0)
    stream = InProcess(open_catalog(sql_settings(tmp_path)), declared)

    def tables(otherwise: str) -> None:
        stream.declare(
            declare(dict(COLUMNS), evolution=Evolution(otherwise=otherwise)).with_coordinates(),  # type: ignore[arg-type]
            declare({"id": COLUMNS["id"]}, name="raw.others").with_coordinates(),
        )

    def run(*records: Mapping[str, Any]) -> None:
        stream.ingest({0: [(None, json.dumps(record).encode()) for record in records]})

    def counts() -> tuple[int, int, int]:
        return len(stream.rows(TABLE)), len(stream.rows("raw.others")), len(stream.quarantined())

    tables("stop_table")
    good, bad, other = {**RECORD, "kind": "a"}, {**RECORD, "kind": "a", "count": "many"}, {"kind": "b", "id": 1}
    run(good, other)
    assert counts() == (1, 1, 0)
    run(good, bad, other)
    run(good, other)
    assert counts() == (1, 3, 3)
    assert {*stream.rows("quarantine.things", "error_class")[0].values()} == {"table_stopped"}
    tables("second_column")
    run(bad)
    assert counts() == (2, 3, 3)
    stream.reprocess()
    assert counts() == (5, 3, 0)
    assert stream.holds().read == 8


def test_a_record_that_is_no_row_adds_no_column_and_what_was_changed_is_sealed(tmp_path: Path) -> None:
    stream = stream_of(tmp_path, avro=False, make_optional=False)
    send(stream, ({}, {"unrelated": 1}), ({}, {**RECORD, "unit price": 2.5}))
    assert set(columns_of(stream)) >= {"unit_price"}
    assert "unrelated" not in columns_of(stream)
    assert [row["unit_price"] for row in stream.rows(TABLE)] == [2.5]
    sealed = read_bases(stream.catalog, [TABLE])[TABLE].sealed
    assert sealed is not None
    changes = msgspec.json.decode(sealed.seal.statement[seal_keys.EVOLUTION_CHANGES])
    assert changes == {TABLE: ["add column unit_price double"]}
    stream.declare(declare(dict(COLUMNS), evolution=Evolution()).with_coordinates())  # changes nothing
    send(stream, ({}, {**RECORD, "unit price": 3.5}))
    assert [row["unit_price"] for row in stream.rows(TABLE)] == [2.5, 3.5]
