"""A catalog on which staged rows would be published rows is recognised and refused."""

from pathlib import Path
from urllib.parse import urlparse

import pytest
from pyiceberg.exceptions import ForbiddenError

from lakehouse.protocol.catalog import UnsafeCatalog, open_catalog, probe
from lakehouse.protocol.catalog.sql_catalog.sql import SqlLakeCatalog
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse_tests.fixtures.lakes import Lake


def test_a_catalog_that_keeps_branches_passes_and_nothing_stays(lake: Lake) -> None:
    folder = Path(urlparse(lake.load(lake.create("beside")).location()).path).parent
    before = sorted(folder.iterdir())
    probe(lake.catalog, lake.namespace)
    assert lake.catalog.list_tables(lake.namespace) == [(lake.namespace, "beside")]
    assert sorted(folder.iterdir()) == before


def test_a_catalog_that_may_delete_no_files_passes(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> None:
        raise ForbiddenError("DROP_WITH_PURGE_ENABLED")

    monkeypatch.setattr(SqlLakeCatalog, "purge_table", forbidden)
    probe(sql_lake.catalog, sql_lake.namespace)
    assert sql_lake.catalog.list_tables(sql_lake.namespace) == []


def branchless(lake: Lake) -> Lake:
    assert lake.rest
    settings = lake.settings.model_copy(update={"uri": lake.rest.branchless_uri})
    return Lake(settings, open_catalog(settings), lake.namespace, lake.rest)


@pytest.mark.rest
def test_a_catalog_that_ignores_branches_is_refused(rest_lake: Lake) -> None:
    with pytest.raises(UnsafeCatalog, match="branches"):
        probe(branchless(rest_lake).catalog, rest_lake.namespace)


@pytest.mark.rest
def test_staging_on_it_is_caught_even_without_the_probe(rest_lake: Lake) -> None:
    unsafe = branchless(rest_lake)
    name = unsafe.create("a")
    with pytest.raises((UnsafeCatalog, KeyError)):
        unsafe.stage(unsafe.bases(name)[name], Attempt(run_id="r", step="s"), [1])
