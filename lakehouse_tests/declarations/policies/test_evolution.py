"""A policy of evolution that cannot work is refused."""

import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import Evolution
from lakehouse.declarations.columns.error import DeclarationError
from lakehouse_tests.declarations.declaring import declare


@pytest.mark.parametrize(
    ("policy", "message"),
    [({"otherwise": "drop"}, "otherwise is 'drop'"), ({"most_columns": 0}, "most_columns is 0")],
)
def test_what_cannot_work(policy: dict[str, object], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        declare({"id": T.LongType()}, evolution=Evolution(**policy))  # type: ignore[arg-type]
