"""Tables that an asset writes and tables that are computed from them, before `lakehouse audit`; no Spark."""

from pathlib import Path

import pytest

from lakehouse.cli.commands.prove import audit, audit_proofs
from lakehouse_tests.proofs.lineage.computed import B, Computed, diamond


@pytest.fixture
def unwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Computed:
    """The tables, to which nobody has written."""
    lake = diamond(tmp_path)
    monkeypatch.setattr(audit_proofs, "catalog_of", lambda _: lake.catalog)
    for module in (audit, audit_proofs):
        monkeypatch.setattr(module, "declarations_of", lambda _: lake.declarations)
    return lake


@pytest.fixture
def lake(unwritten: Computed) -> Computed:
    """A source, and one of the tables that are computed from it."""
    unwritten.source()
    unwritten.compute(B)
    return unwritten
