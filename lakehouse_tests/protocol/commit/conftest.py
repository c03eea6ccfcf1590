"""The suite of the protocol: on the embedded catalog, on a catalog server, and in `make soak` on PostgreSQL."""

import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from lakehouse.settings import CatalogSettings
from lakehouse_tests.fixtures.lakes import Lake, new_lake
from lakehouse_tests.fixtures.postgres import Postgres

CATALOGS = [
    "sql_lake",
    pytest.param("rest_lake", marks=pytest.mark.rest),
    pytest.param("postgres_lake", marks=pytest.mark.soak),
]


@pytest.fixture(params=CATALOGS)
def lake(request: pytest.FixtureRequest) -> Lake:
    """A catalog, with a fresh namespace."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def postgres_lake(request: pytest.FixtureRequest, postgres: Postgres, tmp_path: Path) -> Iterator[Lake]:
    """The code of the embedded catalog, on a database of PostgreSQL."""
    with postgres.new_database(f"lake{zlib.crc32(request.node.nodeid.encode())}") as uri:
        settings = CatalogSettings(type="sql", uri=uri, warehouse=(tmp_path / "warehouse").as_uri())
        lake = new_lake(request, settings, None)
        yield lake
        lake.catalog.close()
