"""Inputs as a step reads them."""

import pytest

from lakehouse.declarations import Derived
from lakehouse.protocol.commit import publish, seal_branch
from lakehouse.protocol.commit.conflict_check import MAINTENANCE
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.derived.inputs.inputs import read_inputs
from lakehouse.steps.derived.plan import prepare
from lakehouse_tests.steps.derived.inputs.test_agreement import BY_SQL
from lakehouse_tests.steps.derived.workshop import DAY, Workshop

pytestmark = pytest.mark.slow


@pytest.fixture
def tip(office: Workshop) -> Derived:
    """`sales` to `one` and `two`, and both to `tip`; `one` and `two` are computed, `tip` is not."""
    for short in ("one", "two"):
        office.computed(office.derived(short))
    return office.derived("tip", compute=BY_SQL, inputs={"one": "one", "two": "two", "shops": "shops"})


@pytest.fixture
def shops(office: Workshop) -> int:
    return office.write("shops", [{"shop": "Kiel", "city": "Kiel"}])


@pytest.mark.usefixtures("shops")
def test_maintenance_does_not_change_what_an_input_is(office: Workshop, tip: Derived) -> None:
    base = read_bases(office.catalog, [office.name("two")])[office.name("two")]
    who = Attempt(run_id="nightly", step="maintenance")
    assert base.sealed
    seal = Seal.of(who, MAINTENANCE, statement={}, previous=base.sealed.seal)
    publish(office.catalog, [seal_branch(office.catalog, base, who, seal)])
    read = read_inputs(office.catalog, tip, office.declarations, office.step(tip).pin)["two"]
    assert (read.date, read.run_id, read.snapshot_id) == (DAY, "run", office.head("two"))
    assert not prepare(office.step(tip)).differing
