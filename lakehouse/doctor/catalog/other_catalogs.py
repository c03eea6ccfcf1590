"""The other catalogs that are read from: does each let us in, and can a table of it be read?"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import RESTError
from pyiceberg.table import Table
from requests import RequestException
from sqlalchemy.exc import SQLAlchemyError

from lakehouse.doctor.catalog.login import login
from lakehouse.doctor.catalog.rest_answers import RestAnswers
from lakehouse.doctor.catalog.words import meaning
from lakehouse.doctor.catalog.written_keys import written_keys
from lakehouse.doctor.finding import Diagnosis, examined, not_asked, refused, well, wrong
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import name_of
from lakehouse.protocol.catalog import open_to_read
from lakehouse.settings import CatalogSettings, Settings

_CHECK = "readable"
_LET_READ = "let this principal list and load tables there, and read their files"


def other_catalogs(settings: Settings) -> Iterator[Diagnosis]:
    """Of each: reach, clock, realm and login as of the own one; then a table is read. Nothing is ever written there."""
    for name, catalog in settings.other_catalogs.items():
        for finding in examined(_CHECK, _of(catalog)):
            yield replace(finding, check=f"{name}: {finding.check}")


def _of(settings: CatalogSettings) -> Iterator[Diagnosis]:
    if problems := [finding for finding in written_keys(settings) if finding.state == "wrong"]:
        yield from problems
        return
    if settings.type == "rest":
        findings = list(examined("login", login(RestAnswers(settings), settings)))
        yield from findings
        if any(finding.state == "wrong" and finding.check != "clock" for finding in findings):
            return
    try:
        yield _readable(open_to_read(settings))
    except LakehouseError as error:
        yield refused(_CHECK, error)
    except (RESTError, RequestException, SQLAlchemyError, OSError, ValueError) as error:
        known = meaning(f"{type(error).__name__} {error}")
        yield wrong(_CHECK, *(known or (f"A table could not be read ({type(error).__name__}).", _LET_READ)))


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
