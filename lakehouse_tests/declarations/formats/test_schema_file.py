"""A schema that cannot be read is one error of the declaration, whatever it is a schema of."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lakehouse.declarations import Avro, JsonSchema, Protobuf
from lakehouse.declarations.columns.error import DeclarationError


@pytest.mark.parametrize("form", [Avro, JsonSchema, Protobuf])
def test_a_missing_file_is_named_with_the_remedy(form: Callable[[Path], object], tmp_path: Path) -> None:
    missing = tmp_path / "orders.schema"
    with pytest.raises(DeclarationError, match=r": .*orders\.schema cannot be read .*put the schema beside"):
        form(missing)
