"""A catalog on which staged rows would be published rows is recognised and refused."""

import pytest

from lakehouse.protocol.catalog import UnsafeCatalog, open_catalog, probe
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse_tests.fixtures.lakes import Lake


def test_a_catalog_that_keeps_branches_passes_and_nothing_stays(lake: Lake) -> None:
    probe(lake.catalog, lake.namespace)
    assert lake.catalog.list_tables(lake.namespace) == []


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
