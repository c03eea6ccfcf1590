"""Entries of manifests."""

import pytest
from pyiceberg.manifest import DataFile, DataFileContent

from lakehouse.iceberg.entries import referenced_path

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("lower", "upper", "path"), [("a", "a", "a"), ("a", "b", None), (None, None, None)])
def test_which_data_file_deletes_are_for(lower: str | None, upper: str | None, path: str | None) -> None:
    """Writers that do not name it have the one path in both bounds."""
    bounds = [{2147483546: bound.encode()} if bound else None for bound in (lower, upper)]
    deletes = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES, lower_bounds=bounds[0], upper_bounds=bounds[1]
    )
    assert referenced_path(deletes) == path
