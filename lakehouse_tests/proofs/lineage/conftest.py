"""A diamond of computed tables, on an embedded catalog of its own."""

from pathlib import Path

import pytest

from lakehouse_tests.proofs.lineage.computed import Computed, diamond


@pytest.fixture
def lake(tmp_path: Path) -> Computed:
    return diamond(tmp_path)
