"""From settings to a catalog."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TypeVar

from sqlalchemy import make_url
from sqlalchemy.exc import NoSuchModuleError

from lakehouse.errors import LakehouseError
from lakehouse.protocol.catalog.change import LakeCatalog
from lakehouse.protocol.catalog.others import RestAmongOthers, SqlAmongOthers
from lakehouse.protocol.catalog.refusal import catalog_refusal
from lakehouse.protocol.catalog.rest import RestLakeCatalog
from lakehouse.protocol.catalog.sql import SqlLakeCatalog
from lakehouse.protocol.catalog.sqlite_file import require_there
from lakehouse.settings import CatalogSettings
from lakehouse.settings.catalogs.properties import python_properties
from lakehouse.settings.distribution import DISTRIBUTION, ExtraMissing

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
        ExtraMissing: the driver of its database is not installed.
    """
    if not others:
        return _opened(settings, RestLakeCatalog if settings.type == "rest" else SqlLakeCatalog)
    own = _opened(settings, RestAmongOthers if settings.type == "rest" else SqlAmongOthers)
    own.others = {name: cache(partial(_opened_to_read, other)) for name, other in others.items()}
    return own


def _opened_to_read(settings: CatalogSettings) -> LakeCatalog:
    if settings.type == "rest":
        return _opened(settings, RestLakeCatalog)
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
        if isinstance(error, LakehouseError) or (refusal := catalog_refusal(error, settings)) is None:
            raise
    # Raised outside the handler: what drivers and servers say would travel along, and may repeat a secret.
    raise refusal
