"""Reading tables one by one, until two rounds agree."""

from itertools import count

import pytest

from lakehouse.protocol.catalog.settled_reads import ReadsNeverSettled, settled
from lakehouse_tests.fixtures.lakes import Lake


def test_tables_that_rest_are_read_twice_and_those_that_never_do_are_refused(sql_lake: Lake) -> None:
    a, b = (tuple(sql_lake.create(name).split(".")) for name in ("a", "b"))
    assert set(settled(sql_lake.catalog.load_table, [a, b])) == {a, b}
    commits = count()

    def changing(identifier: tuple[str, ...]):
        table = sql_lake.catalog.load_table(identifier)
        table.transaction().set_properties({"n": str(next(commits))}).commit_transaction()
        return sql_lake.catalog.load_table(identifier)

    assert set(settled(changing, [a])) == {a}
    with pytest.raises(ReadsNeverSettled, match="changed during each of 20"):
        settled(changing, [a, b])
