"""Inputs that do not belong together stop a step before a row is read, with one message that a person can act on.

Guarded mechanisms: dates and parameters of dated inputs, compared with the run's; the vintage of everything above.
"""

import re
import shlex
from dataclasses import replace

import pytest

from lakehouse.declarations import Derived
from lakehouse.proofs.lineage.computations import Computation
from lakehouse.settings import value_digests
from lakehouse.steps.derived.inputs.agreement import InputsDisagree
from lakehouse.steps.derived.inputs.pins import PIN_PREFIX
from lakehouse.steps.derived.plan import prepare
from lakehouse.steps.derived.refusals import InputMissing
from lakehouse.steps.derived.step import derive
from lakehouse_tests.fixtures.lakes import SERVER_FIRST
from lakehouse_tests.steps.derived.workshop import DAY, TOTALS, Workshop, table_of

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("lake", SERVER_FIRST, indirect=True)]

OTHER_DAY = "2013-05-13"
BY_SQL = "SELECT shop, total FROM one"


@pytest.fixture
def tip(office: Workshop) -> Derived:
    """`sales` to `one` and `two`, and both to `tip`; `one` and `two` are computed, `tip` is not."""
    for short in ("one", "two"):
        office.computed(office.derived(short))
    return office.derived("tip", compute=BY_SQL, inputs={"one": "one", "two": "two", "shops": "shops"})


@pytest.fixture
def shops(office: Workshop) -> int:
    return office.write("shops", [{"shop": "Kiel", "city": "Kiel"}])


def refused(office: Workshop, derived: Derived, **more: object) -> InputsDisagree:
    before = office.head(derived.table.identifier[1])
    with pytest.raises(InputsDisagree) as caught:
        derive(office.step(derived, run="this-run", **more))
    short = derived.table.identifier[1]
    assert office.head(short) == before
    assert office.branches(short) == [], "nothing was staged"
    return caught.value


@pytest.mark.usefixtures("shops")
def test_inputs_of_one_date_and_one_vintage_agree(office: Workshop, tip: Derived) -> None:
    work = prepare(office.step(tip))
    assert not work.differing
    assert {source.name: source.date for source in work.inputs.values()} == {
        office.name("one"): DAY,
        office.name("two"): DAY,
        office.name("shops"): "",
    }


@pytest.mark.usefixtures("shops")
def test_another_date_is_named_with_every_input_and_the_command(office: Workshop, tip: Derived) -> None:
    snapshot_id = office.computed(office.declarations.derived[office.name("two")], run="odd-run", day=OTHER_DAY)
    error = refused(office, tip, parameters={"share": 0.5, "zone": "north east"})
    assert f"{office.name('two')}: its runtime date is {OTHER_DAY}" in error.message
    inputs = error.message.partition("Inputs:")[2]
    assert (
        f"{office.name('two')}: runtime date {OTHER_DAY}, parameters {{}}, run odd-run, snapshot {snapshot_id}"
        in inputs
    )
    assert f"{office.name('one')}: runtime date {DAY}" in inputs
    assert f"{office.name('shops')}: dateless, run writer, snapshot {office.head('shops')}" in inputs
    command = re.search(r"`(.*?)`", error.remedy)
    assert command
    assert shlex.split(command[1]) == [
        *("lakehouse", "derive", office.name("tip"), "--upstream", "--downstream", "--runtime-date", DAY),
        *("--parameter", "share=0.5", "--parameter", "zone=north east"),
    ]
    assert [source.name for source in error.inputs] == list(tip.inputs.values())


@pytest.mark.usefixtures("shops")
def test_the_same_date_with_other_parameters_is_refused(office: Workshop, tip: Derived) -> None:
    two = office.declarations.derived[office.name("two")]
    office.computed(two, digest='{"share": 0.7}', parameters={"share": 0.7})
    error = refused(office, tip)
    assert f"{office.name('two')}: its parameters are others (share is 0.7, here null)" in error.message
    assert "its runtime date is" not in error.message


@pytest.mark.usefixtures("shops")
def test_a_parameter_that_an_input_has_not_used_does_not_matter(office: Workshop, tip: Derived) -> None:
    """Of a run whose parameters are others, as a digest of all of them says: what counts is what was used."""
    two = office.declarations.derived[office.name("two")]
    parameters = {"share": 0.7, "city": "Kiel"}
    used = {"share": value_digests(parameters)["share"]}
    by = Computation(DAY, "of another run", "run", used=used)
    office.computed(two, digest="of another run", parameters=parameters, computed_by=(by,))
    office.computed(office.declarations.derived[office.name("one")], computed_by=(replace(by, used={}),))
    assert not prepare(office.step(tip, parameters={"share": 0.7, "city": "Bonn"})).differing
    error = refused(office, tip, parameters={"share": 0.8, "city": "Kiel"})
    assert f"{office.name('two')}: its parameters are others (share is 0.7, here 0.8)" in error.message
    assert f"- {office.name('one')}: its" not in error.message


@pytest.mark.usefixtures("shops")
@pytest.mark.parametrize("other", [(OTHER_DAY, "{}"), (DAY, '{"share": 0.7}')])
def test_a_part_of_another_date_or_other_parameters_is_refused_though_the_newest_run_is_right(
    office: Workshop, tip: Derived, other: tuple[str, str]
) -> None:
    may = Computation(*other, "odd-run", ("2013-05-01..2013-05-03", "2013-05-07"))
    june = Computation(DAY, "{}", "run", ("2013-06-01",))
    office.computed(office.declarations.derived[office.name("two")], computed_by=(may, june))
    error = refused(office, tip)
    difference = (
        f"partitions 2013-05-01..2013-05-03, 2013-05-07: runtime date {other[0]}, parameters {other[1]}, run odd-run"
    )
    differing, _, inputs = error.message.partition("Inputs:")
    assert f"- {office.name('two')}: {difference}\n" in differing
    assert "2013-06-01" not in differing, "what agrees does not differ"
    assert f"\n  - {difference}\n  - partition 2013-06-01: runtime date {DAY}, parameters {{}}, run run" in inputs
    assert f"`lakehouse derive {tip.name} --upstream --downstream --runtime-date {DAY}`" in error.remedy
    goes_ahead = prepare(office.step(tip, backfill="May is last year's"))
    assert goes_ahead.differing == (f"{office.name('two')}: {difference}",)


@pytest.mark.usefixtures("shops")
def test_two_versions_of_one_ancestor_are_refused_though_dates_agree(office: Workshop, tip: Derived) -> None:
    office.sell(("Bonn", 9))
    office.computed(office.declarations.derived[office.name("two")])
    error = refused(office, tip)
    assert f"{office.name('sales')} was read in 2 versions" in error.message


@pytest.mark.usefixtures("shops")
def test_a_declared_backfill_goes_ahead_and_keeps_what_differs(office: Workshop, tip: Derived) -> None:
    office.computed(office.declarations.derived[office.name("two")], day=OTHER_DAY)
    work = prepare(office.step(tip, backfill="May was late"))
    assert work.differing == (f"{office.name('two')}: its runtime date is {OTHER_DAY}",)


@pytest.mark.usefixtures("shops")
def test_an_input_that_came_of_a_backfill_is_shown_as_such(office: Workshop, tip: Derived) -> None:
    office.computed(office.declarations.derived[office.name("two")], day=OTHER_DAY, differs="May was late")
    assert "of a backfill (May was late)" in refused(office, tip).message


def test_what_nobody_derives_is_repaired_by_hand_first(office: Workshop) -> None:
    office.declare(table_of(office.name("rates"), TOTALS, derived=True))
    office.write("rates", [], runtime_date=OTHER_DAY, parameters_digest="{}")
    derived = office.derived("priced", compute="SELECT * FROM rates", inputs={"rates": "rates"})
    error = refused(office, derived)
    assert error.remedy.startswith(f"materialize {office.name('rates')} for the same date and parameters, and then")


def test_what_is_missing_and_what_is_empty_is_named_and_nothing_is_written(office: Workshop, tip: Derived) -> None:
    office.catalog.drop_table((office.namespace, "two"))
    with pytest.raises(InputMissing) as caught:
        derive(office.step(tip))
    assert f"{office.name('two')} does not exist" in caught.value.message
    assert f"{office.name('shops')} has never been written" in caught.value.message
    assert office.load("tip").metadata.refs == {}


def test_only_external_inputs_are_pinned_and_those_of_the_whole_component(office: Workshop, tip: Derived) -> None:
    derived = office.declarations.derived[office.name("one")]
    office.write("shops", [{"shop": "Kiel", "city": "Kiel"}])
    prepare(office.step(derived))
    pins = {s: [r for r in office.load(s).metadata.refs if r.startswith(PIN_PREFIX)] for s in ("sales", "shops", "one")}
    tag = office.step(tip).pin.tag
    assert pins == {"sales": [tag], "shops": [tag], "one": []}
