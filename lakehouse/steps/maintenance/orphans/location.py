"""Whether what lies at a table's location is the table's: other tables below are known, none is there or around it."""

from collections.abc import Iterator

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.typedef import Identifier

from lakehouse.errors import LakehouseError
from lakehouse.iceberg.locations import PATH_PROPERTIES, lies_elsewhere, place_of
from lakehouse.iceberg.names import name_of, table_name
from lakehouse.iceberg.own_files import is_outside_warehouse, lies_at_location, warehouse_of
from lakehouse.protocol.catalog import LakeCatalog


class CannotLook(LakehouseError):
    """Of a file at the table's location nobody could say whose it is."""


def require_own_place(listed: Table, table: Table) -> None:
    """Refuse where the files at a location may be somebody else's.

    Raises:
        CannotLook: says why.
    """
    name = table_name(table)
    if table.properties.get("gc.enabled", "true").lower() == "false":
        raise CannotLook(f"{name} has gc.enabled=false.", remedy="declare orphans=None, or set gc.enabled")
    # Where a table's files may lie elsewhere, nobody can say of a folder that what is in it is this table's.
    if elsewhere := lies_elsewhere(table.properties):
        raise CannotLook(
            f"{name} has {', '.join(elsewhere)}: its files are not all below {table.location()}, and others may be.",
            remedy="declare orphans=None, and let the store's own rules end old files",
        )
    if not lies_at_location(table):
        raise CannotLook(
            f"{name} says that it lies at {table.location()}, and its metadata lies elsewhere, at "
            f"{table.metadata_location}: of what is there, nobody can say whose it is.",
            remedy="declare orphans=None, or set the table's location to where its metadata is",
        )
    if is_outside_warehouse(table.catalog, table.location()):
        raise CannotLook(
            f"{name} lies at {table.location()}, outside of the warehouse {warehouse_of(table.catalog)}: the files may "
            "be those of the lakehouse that this one is a copy of.",
            remedy="declare orphans=None, or set the catalog's warehouse to a folder that has its tables in it",
        )
    same = (listed.metadata.table_uuid, listed.location()) == (table.metadata.table_uuid, table.location())
    if not same:
        raise CannotLook(f"{name} was made anew while its files were listed.", remedy="nothing to do; look again")


def neighbours_below(catalog: LakeCatalog, table: Table) -> list[str]:
    """Places of all other tables of the catalog that lie below this one's.

    Raises:
        CannotLook: another table has this one's location, has had it, or lies around it, or nobody can say where one
            lies.
    """
    own_location = place_of(table.location())
    neighbours: list[str] = []
    for identifier in sorted(set(_tables(catalog, ()))):
        if identifier == table.name():
            continue
        other = _loaded(catalog, identifier)
        if other is None:
            continue
        below: list[str] = []
        for location in _locations(other):
            if location == own_location:
                raise CannotLook(
                    f"{table_name(table)} and {name_of(identifier)} have one location, {table.location()}.",
                    remedy="declare orphans=None for both, or move one of them",
                )
            if own_location.startswith(location):
                raise CannotLook(
                    f"{table_name(table)} lies within {name_of(identifier)}, whose files may be among its own.",
                    remedy="declare orphans=None for it, or move one of them",
                )
            if location.startswith(own_location):
                below.append(location)
        if any(file.startswith(own_location) and not file.startswith(tuple(below)) for file in _metadata_files(other)):
            raise CannotLook(
                f"{name_of(identifier)} has metadata at {table.location()}, the location of {table_name(table)}.",
                remedy=f"declare orphans=None for {table_name(table)}, or write one of them anew elsewhere",
            )
        neighbours += below
    return neighbours


def _loaded(catalog: LakeCatalog, identifier: Identifier) -> Table | None:
    try:
        return catalog.load_table(identifier)
    except NoSuchTableError:  # dropped since it was listed
        return None
    except Exception as error:
        raise CannotLook(
            f"Nobody can say where {name_of(identifier)} lies: it cannot be loaded ({type(error).__name__}).",
            remedy="repair or drop it; until then no table of this catalog is looked at for orphans",
        ) from error


def _locations(table: Table) -> list[str]:
    return [
        place_of(location)
        for location in (table.location(), *(table.properties.get(key) for key in PATH_PROPERTIES))
        if location
    ]


def _metadata_files(table: Table) -> Iterator[str]:
    """Places of what its metadata name without being read further: they stay where they were when it is moved."""
    yield place_of(table.metadata_location)
    yield from (place_of(entry.metadata_file) for entry in table.metadata.metadata_log)
    yield from (place_of(snapshot.manifest_list) for snapshot in table.metadata.snapshots if snapshot.manifest_list)


def _tables(catalog: LakeCatalog, namespace: Identifier) -> Iterator[Identifier]:
    for child in catalog.list_namespaces(namespace):
        if child[: len(namespace)] == namespace and len(child) > len(namespace):
            yield from catalog.list_tables(child)
            yield from _tables(catalog, child)
