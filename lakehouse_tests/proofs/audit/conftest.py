"""A simulated stream on an embedded catalog of its own."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lakehouse.protocol.catalog import open_catalog
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.proofs.audit.document import Document, edit_document
from lakehouse_tests.proofs.audit.simulated import SimulatedStream

Edit = Callable[[str, Callable[[Document], None]], None]


@pytest.fixture
def events(tmp_path: Path) -> SimulatedStream:
    return SimulatedStream(open_catalog(sql_settings(tmp_path)))


@pytest.fixture
def edit(tmp_path: Path) -> Edit:
    """`edit(table, change)` rewrites the table's metadata document behind the catalog's back."""
    return lambda name, change: edit_document(tmp_path / "catalog.db", name, change)
