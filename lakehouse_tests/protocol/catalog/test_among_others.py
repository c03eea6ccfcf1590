"""Tables of other catalogs are shown by name, each from its own catalog, and nothing changes one through us."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.types import LongType

from lakehouse.protocol.catalog import LakeCatalog, TableChange, open_catalog, set_tag
from lakehouse.protocol.catalog.among_others import CatalogUnknown, OnlyRead
from lakehouse.protocol.commit import open_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.read_group import read_group
from lakehouse.settings import CatalogSettings
from lakehouse_tests.fixtures.lakes import SCHEMA, Lake, sql_settings

THERE = "azure"


@pytest.fixture
def azure(tmp_path: Path) -> CatalogSettings:
    """Another catalog, with one table that has no rows."""
    settings = sql_settings(tmp_path / THERE)
    (tmp_path / THERE).mkdir()
    catalog = open_catalog(settings)
    catalog.create_namespace("raw")
    catalog.create_table(("raw", "sales"), SCHEMA)
    return settings


@pytest.fixture
def both(lake: Lake, azure: CatalogSettings) -> LakeCatalog:
    """The own catalog, SQL and REST, with the other one beside it."""
    return open_catalog(lake.settings, {THERE: azure})


def test_each_table_comes_from_its_catalog_by_the_name_that_was_asked_for(
    both: LakeCatalog, lake: Lake, azure: CatalogSettings
) -> None:
    own = lake.create("sales")
    lake.write("first", sales=[1])
    there = both.load_table("azure:raw.sales")
    assert there.name() == ("azure:raw", "sales")
    assert there.metadata.table_uuid == open_catalog(azure).load_table(("raw", "sales")).metadata.table_uuid
    group = read_group(both, ["azure:raw.sales", own])
    assert [(name, pinned.snapshot_id is None) for name, pinned in group.items()] == [
        ("azure:raw.sales", True),
        (own, False),
    ]
    known = both.locations([("azure:raw", "sales"), ("azure:raw", "none"), tuple(own.split("."))]).known
    assert set(known) == {("azure:raw", "sales"), tuple(own.split("."))}
    assert both.table_exists(("azure:raw", "sales"))
    assert not both.table_exists(("azure:raw", "none"))
    with pytest.raises(NoSuchTableError):
        both.load_table(("raw", "sales"))


def test_a_name_that_no_catalog_has_is_refused_with_those_that_there_are(both: LakeCatalog) -> None:
    with pytest.raises(CatalogUnknown, match=r"There is no other catalog 'azur'.*use one of azure"):
        both.load_table("azur:raw.sales")


CHANGES: list[Callable[[Catalog], object]] = [
    lambda catalog: catalog.drop_table(("azure:raw", "sales")),
    lambda catalog: catalog.purge_table(("azure:raw", "sales")),
    lambda catalog: catalog.load_table("azure:raw.sales").update_schema().add_column("x", LongType()).commit(),
    lambda catalog: catalog.load_table("azure:raw.sales").append(SCHEMA.as_arrow().empty_table()),
    lambda catalog: catalog.load_table("azure:raw.sales").transaction().set_properties(a="b").commit_transaction(),
]


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_changes_a_table_of_another_catalog(
    both: LakeCatalog, azure: CatalogSettings, change: Callable[[Catalog], object]
) -> None:
    before = open_catalog(azure).load_table(("raw", "sales")).metadata_location
    with pytest.raises(OnlyRead, match=r"azure:raw.sales: a table of another catalog is read and never written to"):
        change(both)
    assert open_catalog(azure).load_table(("raw", "sales")).metadata_location == before


def test_a_refused_write_leaves_no_file(both: LakeCatalog, azure: CatalogSettings) -> None:
    folder = Path(azure.warehouse.removeprefix("file://"))
    before = sorted(folder.rglob("*"))
    with pytest.raises(OnlyRead):
        both.load_table("azure:raw.sales").append(pa.table({"n": [1], "s": ["1"]}))
    assert sorted(folder.rglob("*")) == before


def test_no_table_is_made_by_a_name_of_another_catalog(both: LakeCatalog) -> None:
    for make in (lambda: both.create_namespace("azure:new"), lambda: both.create_table(("azure:raw", "s"), SCHEMA)):
        with pytest.raises(OnlyRead, match="azure:"):
            make()


def test_no_publish_and_no_release_spans_two_catalogs(both: LakeCatalog, lake: Lake) -> None:
    own = lake.create("sales")
    bases = read_bases(both, [own, "azure:raw.sales"])
    with pytest.raises(OnlyRead, match=r"azure:raw\.sales"):
        open_branch(both, bases["azure:raw.sales"], Attempt("run", "step"))
    tags = [TableChange(base.identifier, (), (set_tag("release-1", 1),)) for base in bases.values()]
    with pytest.raises(OnlyRead, match="no publish, release or quarantine spans two catalogs"):
        both.commit_tables(tags)
