"""Where tables live: PyIceberg catalogs with one addition, a commit over several tables at once."""

from lakehouse.catalog.change import LakeCatalog, TableChange, ref_is, remove_ref, remove_snapshots, set_branch, set_tag
from lakehouse.catalog.entry import Entry
from lakehouse.catalog.opening import open_catalog
from lakehouse.catalog.probe import UnsafeCatalog, probe

__all__ = [
    "Entry",
    "LakeCatalog",
    "TableChange",
    "UnsafeCatalog",
    "open_catalog",
    "probe",
    "ref_is",
    "remove_ref",
    "remove_snapshots",
    "set_branch",
    "set_tag",
]
