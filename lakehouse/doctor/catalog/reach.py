"""Does a catalog answer that only its own client can ask, and does it let us in? Nothing is made there."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog
from sqlalchemy import URL, make_url

from lakehouse.doctor.catalog.error_meanings import NO_IDENTITY, lacks_identity
from lakehouse.doctor.finding import Diagnosis, not_asked, refused, well, wrong
from lakehouse.doctor.machine.listening import silence
from lakehouse.errors import LakehouseError
from lakehouse.protocol.catalog import open_to_read
from lakehouse.protocol.catalog.refusal import CatalogRefused, address_of, catalog_refusal
from lakehouse.protocol.catalog.sql_catalog.sqlite_file import require_usable
from lakehouse.settings import CatalogSettings
from lakehouse.settings.installed_package import ExtraMissing

_CHECK = "reach"
_POSTGRESQL = 5432


def reach(settings: CatalogSettings) -> Iterator[Diagnosis]:
    """A database, Glue, or a REST catalog whose requests are signed; each error is one of ours, or is asked of it."""
    try:
        url = make_url(settings.address) if settings.type == "sql" else None
        yield _of_file(settings, url) if url is not None and _is_file(url) else _asked(settings, url)
    except ExtraMissing as error:
        yield refused("catalog client", error)
    except CatalogRefused as error:
        yield refused("login", error)
    except LakehouseError as error:
        yield refused(_CHECK, error)
    except Exception as error:
        if lacks_identity(error):
            yield wrong("login", *NO_IDENTITY)
        elif (known := catalog_refusal(error, settings)) is not None:
            yield refused("login" if isinstance(known, CatalogRefused) else _CHECK, known)
        else:
            raise


def _is_file(url: URL) -> bool:
    return url.get_backend_name() == "sqlite"


def _of_file(settings: CatalogSettings, url: URL) -> Diagnosis:
    """Looked at as it lies: whoever opens it by PyIceberg's catalog changes how it is written."""
    require_usable(settings.address, settings.warehouse)
    if url.database and Path(url.database).exists():
        return well(_CHECK, f"the catalog database {url.database} can be read")
    return not_asked(_CHECK, f"there is no catalog database {url.database} yet; the first that writes makes it")


def _asked(settings: CatalogSettings, url: URL | None) -> Diagnosis:
    where = f"the {'catalog' if url is None else 'database of the catalog'} at {address_of(settings)}"
    with closing(open_to_read(settings)) as catalog:
        if url is not None and (reason := _silence(url)) is not None:
            return wrong(
                _CHECK,
                f"{where[0].upper()}{where[1:]} does not answer: {reason}.",
                "start it, or correct `uri` in its file of conf/catalogs",
            )
        if isinstance(catalog, SqlCatalog):
            catalog.engine.connect().close()
        elif settings.type == "glue":
            catalog.list_namespaces()  # a REST catalog was asked when it was opened
    return well(_CHECK, f"{where} answers, and lets us in")


def _silence(url: URL) -> str | None:
    """Before its driver asks, which waits for minutes; not where that looks for the server in a way of its own."""
    return silence(url.host, url.port or _POSTGRESQL) if url.host and "host" not in url.query else None
