"""Clients hold no keys of the store: the catalog lends them, for each table its own, and they end."""

import pytest

from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.commit import publish
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.lent_store import KeyedStore, LendingCatalog

pytestmark = pytest.mark.rest


def test_rows_are_written_and_read_by_keys_of_the_catalog_alone(lent_lake: Lake, keyed_store: KeyedStore) -> None:
    name = lent_lake.create("a")
    lent_lake.write("first", a=[1, 2])
    assert lent_lake.rows(name) == [1, 2]
    assert not keyed_store.refusals
    assert not [key for key in lent_lake.catalog.properties if key.startswith("s3.") and "key" in key]


def test_the_key_of_a_table_opens_no_other(lent_lake: Lake) -> None:
    mine, other = lent_lake.create("a"), lent_lake.create("b")
    lent_lake.write("first", a=[1], b=[2])
    with pytest.raises(OSError, match=r"ACCESS_DENIED|AccessDenied"):
        lent_lake.load(mine).io.new_input(lent_lake.load(other).metadata_location).open()


def test_a_step_that_outlives_its_keys_gets_others(lent_lake: Lake, lending_catalog: LendingCatalog) -> None:
    name = lent_lake.create("a")
    lending_catalog.seconds = -1  # over when it arrives: whoever uses it, asks again
    base = lent_lake.bases(name)[name]
    lending_catalog.seconds = 3600
    lending_catalog.store.end_all()
    staged = lent_lake.stage(base, Attempt(run_id="run", step="first"), [1, 2])
    publish(lent_lake.catalog, [staged])
    assert lent_lake.rows(name) == [1, 2]


def test_without_renewal_nothing_is_half_way_and_the_next_step_goes_on(
    lent_lake: Lake, lending_catalog: LendingCatalog
) -> None:
    name = lent_lake.create("a")
    lent_lake.write("first", a=[1])
    lending_catalog.renews = False
    base = lent_lake.bases(name)[name]
    lending_catalog.store.end_all()
    with pytest.raises(OSError, match="ExpiredToken"):
        lent_lake.stage(base, Attempt(run_id="run", step="second"), [2])
    lending_catalog.renews = True
    assert lent_lake.rows(name) == [1]
    lent_lake.write("second again", a=[2])
    assert lent_lake.rows(name) == [1, 2]


def test_a_token_of_the_catalog_that_ends_is_renewed(lent_lake: Lake, lending_catalog: LendingCatalog) -> None:
    name = lent_lake.create("a")
    base = lent_lake.bases(name)[name]
    lending_catalog.tokens.clear()
    staged = lent_lake.stage(base, Attempt(run_id="run", step="first"), [1])
    lending_catalog.tokens.clear()
    publish(lent_lake.catalog, [staged])
    lending_catalog.tokens.clear()
    assert open_catalog(lent_lake.settings).load_table(tuple(name.split("."))).current_snapshot() is not None
