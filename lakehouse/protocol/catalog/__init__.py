"""Where tables live: PyIceberg catalogs with one addition, a commit over several tables at once."""

from lakehouse.protocol.catalog.change import (
    CANNOT_LOAD,
    LakeCatalog,
    Locations,
    TableChange,
    ref_is,
    remove_ref,
    remove_snapshots,
    set_branch,
    set_tag,
)
from lakehouse.protocol.catalog.entry import Entry
from lakehouse.protocol.catalog.opening import open_catalog, open_to_read
from lakehouse.protocol.catalog.probe import UnsafeCatalog, probe
from lakehouse.protocol.catalog.refusal import CatalogRefused, CatalogUnreachable, TableMissing, catalog_refusal

__all__ = [
    "CANNOT_LOAD",
    "CatalogRefused",
    "CatalogUnreachable",
    "Entry",
    "LakeCatalog",
    "Locations",
    "TableChange",
    "TableMissing",
    "UnsafeCatalog",
    "catalog_refusal",
    "open_catalog",
    "open_to_read",
    "probe",
    "ref_is",
    "remove_ref",
    "remove_snapshots",
    "set_branch",
    "set_tag",
]
