"""What a derived table may be computed from, a case each: decided before Spark is asked for a session.

Guarded mechanisms: date and parameters of the inputs, seals for all of their commits, one set of parameters among the
rows of a growing table, and what became of a race. More cases are in `test_agreement`, `test_incremental` and
`test_step`.
"""

import pyarrow as pa
import pytest

from lakehouse.steps.derived.inputs.agreement import InputsDisagree
from lakehouse.steps.derived.plan import prepare
from lakehouse.steps.derived.refusals import ComputedOtherwise, InputWrittenTo, RowsOfOthers
from lakehouse.steps.derived.step import _outdone
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.derived.workshop import DAY, Workshop, make_workshop, no_spark

OTHER_DAY = "2013-05-13"


@pytest.fixture
def shop(sql_lake: Lake) -> Workshop:
    return make_workshop(sql_lake, no_spark)


@pytest.mark.parametrize(("day", "digest"), [(OTHER_DAY, "{}"), (DAY, '{"share": 0.7}')])
def test_an_input_of_another_date_or_of_other_parameters(shop: Workshop, day: str, digest: str) -> None:
    middle = shop.derived("middle")
    shop.computed(middle, day=day, digest=digest)
    last = shop.derived("last", compute="SELECT shop, total FROM middle", inputs={"middle": "middle"})
    with pytest.raises(InputsDisagree):
        prepare(shop.step(last))


def test_new_rows_beside_those_of_other_parameters(shop: Workshop) -> None:
    growing = shop.derived("growing", mode="incremental", follows="sales")
    shop.computed(growing, digest='{"share": 0.7}')
    with pytest.raises(RowsOfOthers, match="other parameters"):
        prepare(shop.step(growing))


def test_a_race_that_was_won_for_another_date(shop: Workshop) -> None:
    full = shop.derived("full")
    shop.computed(full, run="winner", day=OTHER_DAY)
    with pytest.raises(ComputedOtherwise, match="run winner has published it"):
        _outdone(shop.step(full))


def sold_by_hand(shop: Workshop, short: str = "sales") -> int:
    """An append with PyIceberg, as anybody could; returns the snapshot."""
    table = shop.load(short)
    table.append(pa.Table.from_pylist([{}], schema=table.schema().as_arrow()))
    return shop.head(short) or 0


def test_an_input_that_was_written_to_outside_the_protocol(shop: Workshop) -> None:
    full = shop.derived("full")
    prepare(shop.step(full))
    snapshot_id = sold_by_hand(shop)
    sales = shop.name("sales")
    with pytest.raises(InputWrittenTo) as refused:
        prepare(shop.step(full, run="next"))
    assert f"{sales}: snapshot {snapshot_id} (append, 1 row added, 0 deleted)" in refused.value.message
    assert f"write {sales} anew as a whole" in refused.value.remedy
    prepare(shop.step(full))  # the run that has pinned the input before
    shop.sell(("Kiel", 8))
    with pytest.raises(InputWrittenTo):
        prepare(shop.step(full, run="after a sealed append"))


def test_a_computed_input_that_was_written_to_is_computed_anew(shop: Workshop) -> None:
    middle = shop.derived("middle")
    shop.computed(middle)
    last = shop.derived("last", compute="SELECT shop, total FROM middle", inputs={"middle": "middle"})
    prepare(shop.step(last))
    shop.load("middle").delete("shop = 'Kiel'")
    with pytest.raises(InputWrittenTo, match=f"`lakehouse derive {middle.name}`"):
        prepare(shop.step(last))


def test_a_table_that_is_somebody_elses_is_read_as_it_is(shop: Workshop) -> None:
    sold_by_hand(shop, "shops")
    derived = shop.derived("cities", compute="SELECT shop, 1 AS total FROM shops", inputs={"shops": "shops"})
    prepare(shop.step(derived))
