"""The object stores of Google and Azure, as far as emulators carry: what PyIceberg and Spark do there, and our own.

They ask for no permission, lend nothing, and know no hierarchical namespace: docs/how-to/catalogs.md says what is left.
"""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lakehouse.acceptance import TRIALS, carry_out, scratch
from lakehouse.declarations import ORPHANS, Declarations, apply, plan
from lakehouse.doctor.catalog.probe_object import probe_object
from lakehouse.engines.spark import spark_session
from lakehouse.iceberg import file_sizes
from lakehouse.iceberg.file_sizes import stored_sizes
from lakehouse.protocol.cleanup.store_clock import require_age_clock
from lakehouse.protocol.errors import ClockSkew
from lakehouse.settings import KafkaSettings, Settings
from lakehouse.settings.catalogs.properties import python_properties
from lakehouse.steps.maintenance.orphans import removal
from lakehouse.steps.maintenance.orphans.listing import list_files
from lakehouse_tests.acceptance.conftest import environ_of
from lakehouse_tests.clouds.connected import connected_to
from lakehouse_tests.fixtures.lakes import Lake, new_lake
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.fixtures.store_emulators import ACCOUNT_KEY, azure_settings, gcs_settings
from lakehouse_tests.steps.maintenance import house
from lakehouse_tests.steps.maintenance.orphans.conftest import DELETES, LOOK, ROW
from lakehouse_tests.steps.maintenance.rewriting import Events

pytestmark = [pytest.mark.soak, pytest.mark.clouds]
STORES = {"fake_gcs": gcs_settings, "azurite": azure_settings}
STEPS = [trial for trial in TRIALS if trial.needs_spark]


@pytest.fixture(params=list(STORES))
def cloud_lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    """An embedded catalog whose tables are in the store."""
    settings = STORES[request.param](tmp_path, request.getfixturevalue(request.param))
    return new_lake(request, settings, None)


def test_what_is_published_is_read(cloud_lake: Lake) -> None:
    name = cloud_lake.create("t")
    cloud_lake.write("first", t=range(3))
    cloud_lake.write("second", t=range(3, 5))
    assert cloud_lake.rows(name) == list(range(5))


def test_doctor_writes_reads_lists_and_deletes_an_object(cloud_lake: Lake) -> None:
    table = cloud_lake.load(cloud_lake.create("t"))
    (diagnosis,) = probe_object(table.location(), python_properties(cloud_lake.settings))
    assert diagnosis.state == "well"


def test_sizes_are_those_of_the_store(cloud_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    name = cloud_lake.create("t")
    table, files = cloud_lake.load(name), cloud_lake.files(name, range(3))
    sizes = {**{file.file_path: file.file_size_in_bytes for file in files}, f"{table.location()}/data/gone": None}
    assert stored_sizes(table.io, table.location(), list(sizes)) == sizes
    monkeypatch.setattr(file_sizes, "_FEW", 0)
    monkeypatch.setattr(file_sizes, "_size", lambda *_: None)  # what is known is known by the listing
    assert stored_sizes(table.io, table.location(), list(sizes)) == sizes


def test_a_file_is_listed_with_its_age_and_deleted_alone(cloud_lake: Lake) -> None:
    table = cloud_lake.load(cloud_lake.create("t"))
    names = {"a*", "ab", "a%20b"}
    for name in names:
        with table.io.new_output(f"{table.location()}/data/{name}").create() as stream:
            stream.write(b"1234")
    listing = list_files(table.io, table.location())
    strays = {file.path: file for file in listing.files if "/data/" in file.path}
    assert {path.rpartition("/")[2] for path in strays} == names
    assert {listing.address(path).rpartition("/")[0] for path in strays} == {f"{table.location()}/data"}
    now = datetime.now(UTC)
    for file in strays.values():
        assert file.bytes == 4
        assert file.modified_at is not None
        assert abs(now - file.modified_at) < timedelta(minutes=5)
    while strays:
        path, _ = strays.popitem()
        listing.delete(path)
        listing.delete(path)  # it is gone already, which is as it should be
        files = list_files(table.io, table.location()).files
        assert {file.path for file in files if "/data/" in file.path} == set(strays)


def test_an_orphan_goes_in_the_second_look(cloud_lake: Lake) -> None:
    apply(plan(ORPHANS, cloud_lake.catalog), cloud_lake.catalog)
    name = cloud_lake.create("t")
    cloud_lake.write("first", t=range(3))
    table = cloud_lake.load(name)
    stray = f"{table.location()}/data/{ROW}"
    with table.io.new_output(stray).create() as stream:
        stream.write(b"rows")
    declared, now = Declarations({name: ORPHANS}, {}, {}), datetime.now(UTC)
    first, second = (
        removal.run(house.work_on(cloud_lake.catalog, declared, name, DELETES), LOOK, now=now + timedelta(days=days))
        for days in (3, 6)
    )
    assert (first.effect.candidates, first.effect.deleted) == (1, 0)
    assert second.effect.deleted == 1
    assert not table.io.new_input(stray).exists()
    assert cloud_lake.rows(name) == list(range(3))


def test_the_clock_of_the_store_decides(cloud_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = cloud_lake.load(cloud_lake.create("t"))
    require_age_clock(table)
    ahead = time.time_ns() + 180 * 10**9
    monkeypatch.setattr("lakehouse.protocol.cleanup.store_clock.time.time_ns", lambda: ahead)
    with pytest.raises(ClockSkew):
        require_age_clock(table)


def test_arrows_own_client_for_azure_takes_no_account_from_an_address(
    request: pytest.FixtureRequest, tmp_path: Path, azurite: str
) -> None:
    arrow = {"py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO", "adls.account-key": ACCOUNT_KEY}
    host = {f"adls.{kind}-storage-authority": azurite.split("/")[2] for kind in ("blob", "dfs")}
    plain = {f"adls.{kind}-storage-scheme": "http" for kind in ("blob", "dfs")}
    lake = new_lake(request, azure_settings(tmp_path, azurite, **arrow, **host, **plain), None)
    with pytest.raises(OSError, match="InvalidResourceName"):
        lake.create("t")


@pytest.fixture
def connected(cloud_lake: Lake, tmp_path: Path, jars: Path, broker: KafkaSettings) -> Iterator[Settings]:
    """Spark that reaches the store."""
    with connected_to(cloud_lake, tmp_path, jars, broker) as settings:
        yield settings


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.timeout(600)
def test_every_promise_of_the_steps_is_seen(cloud_lake: Lake, connected: Settings) -> None:
    """Ingest, MERGE, derived tables, a release and the audits of all, by Spark and by our own workers."""
    with scratch(connected, 60, lambda _: None, environ_of(cloud_lake, connected)) as place:
        outcomes = list(carry_out(place, 600, STEPS))
    assert [outcome.trial for outcome in outcomes] == [trial.name for trial in STEPS]
    assert {outcome.trial: outcome.evidence for outcome in outcomes if outcome.verdict != "seen"} == {}
    _require_rewritten(cloud_lake, lambda _: spark_session(connected, app_name="rewrite"))


def _require_rewritten(lake: Lake, spark_on: SparkOn) -> None:
    events = Events.create(lake, spark_on)
    with spark_on(lake.settings) as spark:
        events.append(spark, range(4), range(4, 8), range(8, 12))
    before = events.rows()
    outcome = events.compact("day=2013-01-01")
    assert outcome.result == "done", outcome.message
    assert outcome.after is not None
    assert outcome.after.files < outcome.before.files
    assert events.rows() == before
