"""From settings to a catalog, alone, or with others beside it whose tables it shows."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TypeVar

from sqlalchemy import make_url
from sqlalchemy.exc import NoSuchModuleError

from lakehouse.errors import LakehouseError
from lakehouse.protocol.catalog.among_others import AmongOthers, RestAmongOthers, SqlAmongOthers
from lakehouse.protocol.catalog.change import LakeCatalog
from lakehouse.protocol.catalog.refusal import catalog_refusal, unopened
from lakehouse.protocol.catalog.rest_catalog.rest import RestLakeCatalog
from lakehouse.protocol.catalog.sql_catalog.sql import SqlLakeCatalog
from lakehouse.protocol.catalog.sql_catalog.sqlite_file import require_there
from lakehouse.settings import CatalogSettings
from lakehouse.settings.catalogs.properties import python_properties
from lakehouse.settings.installed_package import DISTRIBUTION, ExtraMissing

_Kind = TypeVar("_Kind", bound=LakeCatalog)


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


def _glue_among_others(settings: CatalogSettings) -> type[AmongOthers]:
    return type("GlueAmongOthers", (AmongOthers, _kind(settings)), {})


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
