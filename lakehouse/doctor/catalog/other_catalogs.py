"""The other catalogs that are read from: does each let us in, and can a table of it be read?"""

from collections.abc import Hashable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import RESTError
from pyiceberg.table import Table
from requests import RequestException
from sqlalchemy import make_url
from sqlalchemy.exc import SQLAlchemyError

from lakehouse.doctor.catalog.error_meanings import meaning_of
from lakehouse.doctor.catalog.login import login
from lakehouse.doctor.catalog.reach import reach
from lakehouse.doctor.catalog.rest_answers import RestAnswers
from lakehouse.doctor.catalog.written_keys import written_keys
from lakehouse.doctor.finding import Diagnosis, examined, not_asked, refused, well, wrong
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import name_of
from lakehouse.protocol.catalog import open_to_read
from lakehouse.settings import CatalogSettings, Settings, SettingsError

_CHECK = "readable"
_LET_READ = "let this principal list and load tables there, and read their files"


def other_catalogs(settings: Settings) -> Iterator[Diagnosis]:
    """Of each: reach, clock, realm and login as of the own one; then a table is read. Nothing is ever written there."""
    for name, catalog in settings.other_catalogs.items():
        for finding in examined(_CHECK, _of(catalog, settings.catalog)):
            yield replace(finding, check=f"{name}: {finding.check}")


def _of(settings: CatalogSettings, own: CatalogSettings) -> Iterator[Diagnosis]:
    if problems := [finding for finding in written_keys(settings) if finding.state == "wrong"]:
        yield from problems
        return
    with suppress(SettingsError):  # what of the own one cannot be read is a finding of that
        if _identity(settings) == _identity(own):
            yield wrong(
                "other",
                "It is the own catalog: its tables are there a second time, and may be computed from themselves.",
                "remove it from other_catalogs; tables of the own catalog are read without a catalog's name",
            )
            return
    if settings.type == "rest":
        findings = list(examined("login", login(RestAnswers(settings), settings)))
        yield from findings
        if any(finding.state == "wrong" and finding.check != "clock" for finding in findings):
            return
    elif silent := [finding for finding in examined("reach", reach(settings)) if finding.state == "wrong"]:
        yield from silent
        return
    try:
        yield _readable(open_to_read(settings))
    except LakehouseError as error:
        yield refused(_CHECK, error)
    except (RESTError, RequestException, SQLAlchemyError, OSError, ValueError) as error:
        known = meaning_of(error)
        yield wrong(_CHECK, *(known or (f"A table could not be read ({type(error).__name__}).", _LET_READ)))


def _identity(settings: CatalogSettings) -> Hashable:
    """What two catalogs that are one have in common, whoever logs in and wherever new tables go.

    Raises:
        SettingsError: a secret in the address cannot be read.
    """
    address = settings.address
    match settings.type:
        case "sql":
            url = make_url(address)
            is_file = url.get_backend_name() == "sqlite" and url.database is not None
            database = Path(url.database or "").resolve() if is_file else url.database
            return url.get_backend_name(), url.host, url.port, database, settings.name
        case "rest":
            parts = urlsplit(address)
            return parts.hostname, parts.port, parts.path.rstrip("/"), settings.realm, settings.warehouse
        case "glue":
            return address, settings.region, settings.properties.get("glue.id")


def _readable(catalog: Catalog) -> Diagnosis:
    """By the first table with a snapshot: its list of manifests is a file in its storage."""
    for table in _tables(catalog):
        if (snapshot := table.current_snapshot()) is not None:
            snapshot.manifests(table.io)
            return well(_CHECK, f"{name_of(table.name())} was loaded, and its list of manifests read")
    return not_asked(_CHECK, "no table with rows is to be seen there")


def _tables(catalog: Catalog) -> Iterator[Table]:
    for namespace in catalog.list_namespaces():
        for identifier in catalog.list_tables(namespace):
            with suppress(RESTError):  # it may be another's, and the next one ours to read
                yield catalog.load_table(identifier)
