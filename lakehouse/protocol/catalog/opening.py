"""From settings to a catalog, alone, or with others beside it whose tables it shows: to be read, and no more.

Whoever loads `catalog:namespace.table` gets it from the catalog that is named, with that catalog's credentials and
storage. Whatever would change one is refused here, so no commit can span two catalogs, whoever asks for it.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TypeVar

from pyiceberg.exceptions import RESTError
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.update import TableRequirement, TableUpdate
from pyiceberg.typedef import Identifier
from requests import RequestException
from sqlalchemy import make_url
from sqlalchemy.exc import NoSuchModuleError
from typing_extensions import override

from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import identifier_of, is_elsewhere, name_of, split_catalog
from lakehouse.protocol.catalog.change import LakeCatalog, Locations, TableChange
from lakehouse.protocol.catalog.refusal import catalog_refusal, unopened
from lakehouse.protocol.catalog.rest import RestLakeCatalog
from lakehouse.protocol.catalog.sql_catalog.sql import SqlLakeCatalog
from lakehouse.protocol.catalog.sql_catalog.sqlite_file import require_there
from lakehouse.settings import CatalogSettings
from lakehouse.settings.catalogs.properties import python_properties
from lakehouse.settings.distribution import DISTRIBUTION, ExtraMissing

_Kind = TypeVar("_Kind", bound=LakeCatalog)


class CatalogUnknown(LakehouseError):
    """No catalog of this name is chosen."""


class OnlyRead(LakehouseError):
    """A table of another catalog would be changed."""


class _AmongOthers(LakeCatalog):
    """What a catalog does about tables of others; it stands before the kind that the own catalog is of."""

    others: Mapping[str, Callable[[], LakeCatalog]]

    @override
    def load_table(self, identifier: str | Identifier) -> Table:
        identifier = self.identifier_to_tuple(identifier)
        catalog, local = _split(identifier)
        if not catalog:
            return super().load_table(identifier)
        return self._shown(identifier, self._other(catalog).load_table(local))

    @override
    def load_tables(self, identifiers: Sequence[Identifier]) -> dict[Identifier, Table]:
        """Each catalog's at one moment; two catalogs have none in common."""
        tables: dict[Identifier, Table] = {}
        for catalog, group in _by_catalog(identifiers).items():
            if not catalog:
                tables |= super().load_tables(group)  # pyright: ignore[reportAbstractUsage] - the kind has it
                continue
            loaded = self._other(catalog).load_tables([_split(identifier)[1] for identifier in group])
            tables |= {identifier: self._shown(identifier, loaded[_split(identifier)[1]]) for identifier in group}
        return {identifier: tables[identifier] for identifier in identifiers}

    @override
    def table_exists(self, identifier: str | Identifier) -> bool:
        identifier = self.identifier_to_tuple(identifier)
        catalog, local = _split(identifier)
        return self._other(catalog).table_exists(local) if catalog else super().table_exists(identifier)

    @override
    def locations(self, identifiers: Sequence[Identifier]) -> Locations:
        """The same; where another catalog does not answer, it says nothing of its tables, and the own one's are there.

        Raises:
            RequestException: the own catalog does not answer.
        """
        known, refused = dict[Identifier, str](), dict[Identifier, str]()
        for catalog, group in _by_catalog(identifiers).items():
            if not catalog:
                own = super().locations(group)  # pyright: ignore[reportAbstractUsage] - the kind has it
                known, refused = {**known, **own.known}, {**refused, **own.refused}
                continue
            try:
                there = self._other(catalog).locations([_split(identifier)[1] for identifier in group])
            except (RequestException, RESTError, LakehouseError) as error:
                refused |= dict.fromkeys(group, f"catalog {catalog}: {type(error).__name__}")
                continue
            for identifier in group:
                local = _split(identifier)[1]
                known |= {identifier: there.known[local]} if local in there.known else {}
                refused |= {identifier: there.refused[local]} if local in there.refused else {}
        return Locations(known, refused)

    @override
    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        _require_own([table.name()])
        return super().commit_table(table, requirements, updates)

    @override
    def commit_tables(self, changes: Sequence[TableChange]) -> None:
        _require_own([change.identifier for change in changes])
        super().commit_tables(changes)  # pyright: ignore[reportAbstractUsage] - the kind has it

    @override
    def drop_table(self, identifier: str | Identifier) -> None:
        _require_own([self.identifier_to_tuple(identifier)])
        super().drop_table(identifier)

    @override
    def purge_table(self, identifier: str | Identifier) -> None:
        _require_own([self.identifier_to_tuple(identifier)])
        super().purge_table(identifier)

    def _other(self, name: str) -> LakeCatalog:
        if name not in self.others:
            known = ", ".join(sorted(self.others))
            raise CatalogUnknown(
                f"There is no other catalog {name!r}.",
                remedy=f"add it to other_catalogs of conf/lakehouse.yaml, or use one of {known}.",
            )
        return self.others[name]()

    def _shown(self, identifier: Identifier, table: Table) -> Table:
        """A table of another catalog by its name here; a commit on it comes to us, and is refused."""
        return Table(identifier, table.metadata, table.metadata_location, table.io, self, table.config)


class SqlAmongOthers(_AmongOthers, SqlLakeCatalog):  # pyright: ignore[reportIncompatibleMethodOverride]
    """An embedded SQL catalog with others beside it."""


class RestAmongOthers(_AmongOthers, RestLakeCatalog):  # pyright: ignore[reportIncompatibleMethodOverride]
    """A REST catalog with others beside it."""


def open_catalog(settings: CatalogSettings, others: Mapping[str, CatalogSettings] | None = None) -> LakeCatalog:
    """Open the catalog that the settings name.

    Secrets leave their wrapping here and nowhere else.

    Args:
        settings: of the own catalog.
        others: name → settings of a catalog whose tables are only read; each is opened when it is first asked for.

    Raises:
        CatalogUnreachable: it does not answer.
        CatalogRefused: it does not let us in, or is none.
        CatalogUnusable: the file of an embedded one is locked, damaged, or gone.
        CatalogUnopened: one of its properties, or its answer, is none that the client understands.
        ExtraMissing: the driver of its database, or AWS' client, is not installed.
    """
    if not others:
        return _opened(settings, _kind(settings))
    among_others = {"rest": RestAmongOthers, "sql": SqlAmongOthers}
    own = _opened(settings, among_others.get(settings.type) or _glue_among_others(settings))
    own.others = {name: cache(partial(open_to_read, other)) for name, other in others.items()}
    return own


def _kind(settings: CatalogSettings) -> type[LakeCatalog]:
    """The class of a catalog; that of Glue is imported where it is needed: its client is of an extra."""
    if settings.type == "rest":
        return RestLakeCatalog
    if settings.type == "sql":
        return SqlLakeCatalog
    try:
        from lakehouse.protocol.catalog.glue_catalog.glue import GlueLakeCatalog
    except ModuleNotFoundError as error:
        raise ExtraMissing(
            f"The client of AWS Glue, {error.name}, is not installed.", remedy=f"pip install '{DISTRIBUTION}[aws]'"
        ) from error
    return GlueLakeCatalog


def _glue_among_others(settings: CatalogSettings) -> type[_AmongOthers]:
    return type("GlueAmongOthers", (_AmongOthers, _kind(settings)), {})


def open_to_read(settings: CatalogSettings) -> LakeCatalog:
    """Open a catalog from which tables are read; an embedded one is not made where it is not there.

    Raises:
        CatalogUnreachable: it does not answer.
        CatalogRefused: it does not let us in, or is none.
        CatalogUnusable: the file of an embedded one is locked, damaged, or gone.
        CatalogUnopened: one of its properties, or its answer, is none that the client understands.
        ExtraMissing: the driver of its database is not installed.
    """
    if settings.type != "sql":
        return _opened(settings, _kind(settings))
    require_there(settings.address)
    return _opened(settings, partial(SqlLakeCatalog, init_catalog_tables="false"))


def _opened(settings: CatalogSettings, kind: Callable[..., _Kind]) -> _Kind:
    properties = python_properties(settings)
    try:
        return kind(settings.name, **properties)
    except (ModuleNotFoundError, NoSuchModuleError):
        raise ExtraMissing(
            f"The driver of the catalog's database, {make_url(settings.address).drivername}, is not installed.",
            remedy=f"pip install '{DISTRIBUTION}[postgres]', and write its address as postgresql+psycopg://…",
        ) from None
    except Exception as error:
        if isinstance(error, LakehouseError):
            raise
        if (refusal := catalog_refusal(error, settings)) is None:
            if isinstance(error, OSError):  # of a disk, and it names the file
                raise
            refusal = unopened(error, settings)
    # Raised outside the handler: what drivers and servers say would travel along, and may repeat a secret.
    raise refusal


def _split(identifier: Identifier) -> tuple[str, Identifier]:
    catalog, name = split_catalog(name_of(identifier))
    return catalog, identifier_of(name)


def _by_catalog(identifiers: Sequence[Identifier]) -> dict[str, list[Identifier]]:
    groups: dict[str, list[Identifier]] = {}
    for identifier in identifiers:
        groups.setdefault(_split(identifier)[0], []).append(identifier)
    return groups


def _require_own(identifiers: Sequence[Identifier]) -> None:
    if names := [name for name in map(name_of, identifiers) if is_elsewhere(name)]:
        raise OnlyRead(
            f"{', '.join(names)}: a table of another catalog is read and never written to; no publish, release or "
            "quarantine spans two catalogs.",
            remedy="write to a table of the own catalog; what changes the other is a lakehouse of its own, there.",
        )
