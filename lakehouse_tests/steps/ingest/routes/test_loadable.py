"""A table that is gone, damaged or emptied stops alone, takes no part in the publish, and joins once it is mended."""

import json
from pathlib import Path

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
import pytest
from pyiceberg.exceptions import NoSuchTableError

from lakehouse.declarations import Declarations, Route, Stream, ToAll, apply, plan
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.read_group import read_group
from lakehouse.steps.ingest.refusals import TableEmptied
from lakehouse.steps.ingest.routes.loadable import RouteTableGone, load_tables_of
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.steps.ingest.in_process import InProcess
from lakehouse_tests.steps.ingest.routes.test_blame import COLUMNS, A, B, counts, send, stream_of


def rows(stream: InProcess, name: str) -> list[object]:
    return [row["id"] for row in stream.rows(name, "id")]


def test_a_table_that_is_gone_stops_alone_and_joins_again(tmp_path: Path) -> None:
    stream = stream_of(tmp_path)
    send(stream, ("b", 1))
    location = stream.load(A).metadata_location
    stream.catalog.drop_table(A)
    send(stream, ("a", 2), ("b", 3))
    assert rows(stream, B) == [1, 3]
    assert stream.quarantined() == [(0, 1)]
    assert set(read_group(stream.catalog, [B, "quarantine.things"])) == {B, "quarantine.things"}
    stream.catalog.register_table(A, location)
    send(stream, ("a", 4))
    assert rows(stream, A) == [4]
    stream.reprocess()
    assert (rows(stream, A), counts(stream)) == ([2, 4], (2, 2, 0))
    assert stream.holds().read == 4


def test_a_table_made_anew_without_its_rows_stops_alone_and_gets_no_seal(tmp_path: Path) -> None:
    stream = stream_of(tmp_path)
    send(stream, ("a", 1), ("b", 2))
    stream.catalog.drop_table(A)
    apply(plan(stream.declarations.tables[A], stream.catalog), stream.catalog)
    send(stream, ("a", 3), ("b", 4))
    assert rows(stream, B) == [2, 4]
    assert stream.quarantined() == [(0, 2)]
    assert read_bases(stream.catalog, [A])[A].sealed is None
    loadable = load_tables_of(stream.catalog, stream.stream, stream.declarations)
    assert isinstance(loadable.unloaded[A], TableEmptied)
    assert "restore it" in str(loadable.unloaded[A])
    assert not stream.audit().holds  # its rows are lost, and the proof says so


def test_without_any_table_or_the_quarantine_nothing_goes_on(tmp_path: Path) -> None:
    stream = stream_of(tmp_path)
    stream.catalog.drop_table(A)
    stream.catalog.drop_table(B)
    with pytest.raises(RouteTableGone, match=r"raw\.a does not exist.*lakehouse reprocess things"):
        send(stream, ("a", 1))
    (tmp_path / "other").mkdir()
    other = stream_of(tmp_path / "other")
    other.catalog.drop_table("quarantine.things")
    with pytest.raises(NoSuchTableError):
        send(other, ("a", 1))


@pytest.mark.parametrize("route", [ToAll(A, B)])
def test_where_each_record_is_for_all_tables_none_stops_alone(tmp_path: Path, route: Route) -> None:
    stream = stream_of(tmp_path)
    stream.stream = Stream(name="things", topic="t", route=route)
    stream.declarations = Declarations(stream.declarations.tables, {"things": stream.stream}, {})
    stream.catalog.drop_table(A)
    with pytest.raises(NoSuchTableError):
        stream.ingest({0: [(None, json.dumps({"id": 1}).encode())]})


def test_a_table_that_is_not_as_declared_stops_alone_and_is_sealed_all_the_same(tmp_path: Path) -> None:
    stream = stream_of(tmp_path)
    send(stream, ("a", 1), ("b", 2))
    more = {**COLUMNS, "more": pandera.Column(T.StringType(), nullable=True)}
    tables = {**stream.declarations.tables, A: declare(more, A).with_coordinates()}
    stream.declarations = Declarations(tables, stream.declarations.streams, {})
    send(stream, ("a", 3), ("b", 4))
    assert (rows(stream, B), stream.quarantined()) == ([2, 4], [(0, 2)])
    sealed = read_bases(stream.catalog, [A])[A].sealed
    assert sealed is not None
    assert sealed.seal.run_id == "run-2"
    apply(plan(stream.declarations.tables[A], stream.catalog), stream.catalog)
    stream.reprocess()
    assert counts(stream) == (2, 2, 0)
    assert stream.holds().read == 4
