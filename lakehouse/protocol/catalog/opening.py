"""From settings to a catalog."""

from sqlalchemy import make_url
from sqlalchemy.exc import NoSuchModuleError

from lakehouse.errors import LakehouseError
from lakehouse.protocol.catalog.change import LakeCatalog
from lakehouse.protocol.catalog.refusal import catalog_refusal
from lakehouse.protocol.catalog.rest import RestLakeCatalog
from lakehouse.protocol.catalog.sql_catalog.sql import SqlLakeCatalog
from lakehouse.settings import CatalogSettings
from lakehouse.settings.catalogs.properties import python_properties
from lakehouse.settings.distribution import DISTRIBUTION, ExtraMissing


def open_catalog(settings: CatalogSettings) -> LakeCatalog:
    """Open the catalog that the settings name.

    Secrets leave their wrapping here and nowhere else.

    Raises:
        CatalogUnreachable: it does not answer.
        CatalogRefused: it does not let us in, or is none.
        CatalogUnusable: the file of an embedded one is locked, damaged, or gone.
        ExtraMissing: the driver of its database is not installed.
    """
    properties = python_properties(settings)
    kind = RestLakeCatalog if settings.type == "rest" else SqlLakeCatalog
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
