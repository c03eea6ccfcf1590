"""What a derived table may be computed from, a case each: decided before Spark is asked for a session.

Guarded mechanisms: date and parameters of the inputs, one set of parameters among the rows of a growing table, and what
became of a race. Every case is in `test_agreement`, `test_incremental` and `test_step`.
"""

import pytest

from lakehouse.derived.agreement import InputsDisagree
from lakehouse.derived.plan import prepare
from lakehouse.derived.refusals import ComputedOtherwise, RowsOfOthers
from lakehouse.derived.step import _outdone
from lakehouse_tests.derived.workshop import DAY, Workshop, make_workshop, no_spark
from lakehouse_tests.fixtures.lakes import Lake

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
