"""What a look over all tables reads, and that a table which cannot be looked at keeps no other from its turn."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import ForbiddenError
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table import Table as IcebergTable
from pyiceberg.typedef import Identifier

from lakehouse.declarations import Maintenance
from lakehouse.orchestration.automation import maintenance_sensor
from lakehouse.orchestration.run_context import ALLOW_TAG
from lakehouse.protocol.catalog import Locations
from lakehouse.protocol.journal import reconcile
from lakehouse.steps.maintenance.log.history import History
from lakehouse_tests.steps.maintenance.house import COPY, LOG, MIRROR
from lakehouse_tests.steps.maintenance.test_upkeep import FEW, Upkeep, upkeep

pytestmark = pytest.mark.slow

__all__ = ["upkeep"]


def table_of(upkeep: Upkeep, name: str) -> IcebergTable:
    return upkeep.house.catalog.load_table(tuple(name.split(".")))


def file_of(location: str) -> Path:
    return Path(location.removeprefix("file://"))


def decided(upkeep: Upkeep) -> list[str]:
    """Tables of which something was decided, in the order of the rows."""
    rows = History.read(upkeep.house.catalog, datetime.now(UTC)).rows
    return [row.table_name for row in reversed(rows) if not row.finished]


def test_only_what_has_changed_is_read(upkeep: Upkeep, monkeypatch: pytest.MonkeyPatch) -> None:
    upkeep.house.grow(2)
    first = upkeep.tick()
    folders = {name: table_of(upkeep, name).location() for name in upkeep.lake.declarations.tables}
    opened: list[str] = []
    original = PyArrowFileIO.new_input

    def watched(io: PyArrowFileIO, location: str) -> object:
        opened.append(location)
        return original(io, location)

    monkeypatch.setattr(PyArrowFileIO, "new_input", watched)
    upkeep.tick(first.cursor)
    assert not opened, "where nothing has changed the catalog says so"
    upkeep.house.mirror(upkeep.house.head)
    opened.clear()
    upkeep.tick(first.cursor)
    read = {name for name, folder in folders.items() if any(place.startswith(f"{folder}/") for place in opened)}
    # The changelog that the mirror holds a lease of has changed as well, and is asked of everybody who reads it.
    assert read == {LOG, COPY, *(table.name for table in upkeep.lake.declarations.mirrors[MIRROR].tables)}


def test_a_table_without_its_metadata_stops_no_other_and_is_looked_at_again(
    upkeep: Upkeep, capsys: pytest.CaptureFixture[str]
) -> None:
    upkeep.house.grow(6)
    upkeep.declare(FEW)
    broken = "release.things"
    assert broken in upkeep.lake.declarations.tables
    file = file_of(table_of(upkeep, broken).metadata_location)
    text = file.read_bytes()
    file.unlink()
    result = upkeep.tick()
    assert [request.tags["lakehouse/maintenance"] for request in result.run_requests or []] == [LOG]
    assert set(decided(upkeep)) == set(upkeep.lake.declarations.tables) - {broken}
    why = f"{broken}: metadata file {file.name} is in the catalog, and not in storage."
    assert f"{broken} could not be looked at, the next tick tries again: {why}" in capsys.readouterr().err
    upkeep.run({ALLOW_TAG: upkeep.shown()})
    again = upkeep.tick(result.cursor)
    assert again.skip_reason is not None
    assert f"{broken} could not be looked at: {why}" in str(again.skip_reason.skip_message)
    file.write_bytes(text)
    upkeep.tick(again.cursor)
    assert broken in decided(upkeep)


@pytest.mark.parametrize("rubbish", [b"", b"no avro at all", b"Obj\x01 and then nothing of the sort"])
def test_a_broken_manifest_is_its_own_tables_trouble(upkeep: Upkeep, rubbish: bytes) -> None:
    upkeep.house.grow(6)
    log = table_of(upkeep, LOG)
    snapshot = log.current_snapshot()
    assert snapshot is not None
    file_of(snapshot.manifests(log.io)[0].manifest_path).write_bytes(rubbish)
    result = upkeep.tick()
    assert set(decided(upkeep)) == set(upkeep.lake.declarations.tables) - {LOG}
    assert f"{LOG} could not be looked at" in str(result.skip_reason.skip_message if result.skip_reason else "")


def refusing(upkeep: Upkeep, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let the catalog refuse a table, as REST catalogs do."""
    refused, catalog = tuple(name.split(".")), upkeep.lake.catalog
    located, loaded = catalog.locations, catalog.load_table

    def locations(identifiers: Sequence[Identifier]) -> Locations:
        known = located([identifier for identifier in identifiers if identifier != refused]).known
        return Locations(known, {refused: "the catalog answered 403"} if refused in identifiers else {})

    def load_table(identifier: str | Identifier) -> IcebergTable:
        if Catalog.identifier_to_tuple(identifier) == refused:
            raise ForbiddenError("no")
        return loaded(identifier)

    monkeypatch.setattr(catalog, "locations", locations)
    monkeypatch.setattr(catalog, "load_table", load_table)


def test_a_table_that_the_catalog_refuses_is_named_and_stops_no_other(
    upkeep: Upkeep, monkeypatch: pytest.MonkeyPatch
) -> None:
    upkeep.house.grow(6)
    upkeep.declare(FEW)
    refused = "release.things"
    refusing(upkeep, monkeypatch, refused)
    result = upkeep.tick()
    assert [request.tags["lakehouse/maintenance"] for request in result.run_requests or []] == [LOG]
    assert set(decided(upkeep)) == set(upkeep.lake.declarations.tables) - {refused}
    upkeep.declare(Maintenance())
    again = upkeep.tick(result.cursor)
    assert f"{refused} could not be looked at: the catalog answered 403" in str(again.skip_reason)
    assert "is due before" not in str(upkeep.tick(again.cursor).skip_reason), "it is asked for again"


def test_a_table_that_the_catalog_refuses_keeps_no_other_out_of_the_audit_log(
    upkeep: Upkeep, monkeypatch: pytest.MonkeyPatch
) -> None:
    upkeep.house.grow(1)
    before = reconcile(upkeep.lake.catalog, upkeep.lake.declarations)
    upkeep.house.mirror(upkeep.house.head)
    upkeep.house.grow(1)
    refusing(upkeep, monkeypatch, MIRROR)
    news = reconcile(upkeep.lake.catalog, upkeep.lake.declarations, before.position)
    assert news.trouble == {MIRROR: "the catalog answered 403"}
    logged = {event.table for event in news.events}
    assert LOG in logged
    assert MIRROR not in logged
    assert news.position.tables.get(MIRROR) == before.position.tables.get(MIRROR), "nobody says that it was dropped"
    monkeypatch.undo()
    later = reconcile(upkeep.lake.catalog, upkeep.lake.declarations, news.position)
    assert not later.trouble
    assert MIRROR in {event.table for event in later.events}


def test_who_reads_a_table_and_cannot_be_loaded_leaves_that_table_alone_and_no_other(upkeep: Upkeep) -> None:
    """Nobody knows then which snapshots of the changelog its mirror still needs."""
    upkeep.house.grow(6)
    upkeep.declare(FEW)
    file = file_of(table_of(upkeep, MIRROR).metadata_location)
    file.write_text(file.read_text().replace('"type":"long"', '"type":"variant"'))
    result = upkeep.tick()
    assert not result.run_requests
    assert set(decided(upkeep)) == set(upkeep.lake.declarations.tables) - {LOG}


def test_where_there_is_no_time_for_all_the_next_look_goes_on_with_those_that_wait_longest(
    upkeep: Upkeep, monkeypatch: pytest.MonkeyPatch
) -> None:
    upkeep.house.grow(1)
    monkeypatch.setattr(maintenance_sensor, "_MOST_SECONDS", 0.0)
    names, cursor = sorted(upkeep.lake.declarations.tables), None
    for turn in range(len(names)):
        cursor = upkeep.tick(cursor).cursor
        assert decided(upkeep) == names[: turn + 1]
    assert "nothing is due before" in str(upkeep.tick(cursor).skip_reason)
    upkeep.house.grow(1)
    upkeep.tick(cursor)
    assert decided(upkeep)[-1] == LOG
