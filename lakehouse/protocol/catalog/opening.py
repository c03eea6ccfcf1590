"""From settings to a catalog."""

from pydantic import SecretStr

from lakehouse.protocol.catalog.change import LakeCatalog
from lakehouse.protocol.catalog.rest import RestLakeCatalog
from lakehouse.protocol.catalog.sql import SqlLakeCatalog
from lakehouse.settings import CatalogSettings


def open_catalog(settings: CatalogSettings) -> LakeCatalog:
    """Open the catalog that the settings name.

    Secrets leave their wrapping here and nowhere else.
    """
    properties = {
        key: value.get_secret_value() if isinstance(value, SecretStr) else value
        for key, value in settings.properties.items()
    }
    kind = RestLakeCatalog if settings.type == "rest" else SqlLakeCatalog
    return kind(settings.name, **{"uri": settings.uri, "warehouse": settings.warehouse, **properties})
