"""A policy that nothing would follow is refused where it is declared."""

from typing import Any

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import DeclarationError
from lakehouse_tests.formats.changes.decoding import changelog


@pytest.mark.parametrize(
    ("policies", "complaint"),
    [
        ("null", "is no mapping"),
        ({"day": "null"}, "'day' is no type"),
        ({"date": "drop"}, "'date' is 'drop'"),
        ({"date": "text"}, "'date' is 'text', which a date has no room for"),
        ({"string": "null"}, "'string' is 'null'"),
        ({"double": "clamp"}, "no column beside the key is a double"),
    ],
)
def test_a_policy_that_nothing_would_follow_is_refused(policies: Any, complaint: str) -> None:
    with pytest.raises(DeclarationError, match=complaint):
        changelog({"id": T.LongType(), "day": T.DateType(), "text": T.StringType()}, special_values=policies)


def test_a_policy_of_the_keys_type_alone_is_refused() -> None:
    row = pandera.DataFrameSchema({"day": pandera.Column(T.DateType(), nullable=False)})
    with pytest.raises(DeclarationError, match="no column beside the key is a date"):
        changelog(row=row, key=("day",), special_values={"date": "clamp"})
