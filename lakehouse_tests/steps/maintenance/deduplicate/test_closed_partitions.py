"""Rows that nobody can tell apart are refused before anything is read, by name and with their number."""

from datetime import timedelta

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import Declarations, Deduplicate, Maintenance, Table
from lakehouse.steps.maintenance.deduplicate.closed_partitions import NullKey, look
from lakehouse.steps.maintenance.model.action import Action, Operation
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.protocol.commit.rewrites import append, create
from lakehouse_tests.steps.maintenance.house import work_on

CLOSED = Maintenance(deduplicate=Deduplicate(order_by=("s desc",), closed_after=timedelta(0)))
ALL = Action(operation=Operation.DEDUPLICATE)


def test_a_key_with_nulls_identifies_no_row(sql_lake: Lake) -> None:
    """Declared as never null; who has written the files did not keep to it."""
    name = create(sql_lake)
    columns = {"n": T.LongType(), "s": T.StringType(), "day": T.IntegerType()}
    declared = Table(
        name=name,
        schema=pandera.DataFrameSchema(
            {key: pandera.Column(kind, nullable=key == "s") for key, kind in columns.items()}
        ),
        description="Of a test.",
        owner="tests",
        key=("n", "day"),
        maintenance=CLOSED,
    )
    append(sql_lake, name, {1: 0, 2: 1})
    work = work_on(sql_lake.catalog, Declarations({name: declared}, {}, {}), name, CLOSED)
    both = look(work, ALL).partitions.values()
    append(sql_lake, name, {None: 1})  # type: ignore[dict-item]
    with pytest.raises(NullKey, match=r"at least 1 rows of day=1 have no value in a column of the key \(n, day\)"):
        look(work, ALL)
    first = next(state.partition for state in both if state.partition.name == "day=0")
    assert look(work, Action(operation=Operation.DEDUPLICATE, partitions=(first,))).partitions
