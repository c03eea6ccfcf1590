"""Rules by which a stream leaves records out of a table: what cannot work is refused where it is declared."""

from datetime import timedelta
from typing import Any

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import DeclarationError, DropDuplicates
from lakehouse_tests.declarations.declaring import declare

COLUMNS: dict[str, Any] = {
    "id": pandera.Column(T.LongType(), nullable=False),
    "at": T.TimestampType(),
    "tags": T.ArrayType(T.StringType()),
}
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("duplicates", "refused"),
    [
        (DropDuplicates(), "no key is named"),
        (DropDuplicates(key=("nothing",)), "no column 'nothing'"),
        (DropDuplicates(key=("tags",)), "'tags' is a array"),
        (DropDuplicates(key=("id",), time="at"), "time and within belong together"),
        (DropDuplicates(key=("id",), within=HOUR), "time and within belong together"),
        (DropDuplicates(key=("id",), time="at", within=-HOUR), "within is -1 day"),
        (DropDuplicates(key=("id",), time="id", within=HOUR), "'id' is no column of timestamps"),
        (DropDuplicates(key=("id",), time="nothing", within=HOUR), "'nothing' is no column of timestamps"),
    ],
)
def test_duplicates_that_nobody_could_tell(duplicates: DropDuplicates, refused: str) -> None:
    with pytest.raises(DeclarationError, match=refused):
        declare(COLUMNS, duplicates=duplicates)


def test_a_key_of_the_table_is_taken_and_a_filter_needs_its_column() -> None:
    declare(COLUMNS, key=("id",), duplicates=DropDuplicates(time="at", within=HOUR))
    with pytest.raises(DeclarationError, match="keep: there is no column 'nothing'"):
        declare(COLUMNS, keep={"nothing": pandera.Check.gt(1)})
