"""What members have to agree on: dates, the parameters that they share, and each member with itself."""

import pytest

from lakehouse.proofs.lineage.computations import Computation
from lakehouse.steps.derived.statement import DeriveStatement
from lakehouse_tests.steps.release.conftest import DATE, Group
from lakehouse_tests.steps.release.gate.conftest import held_message

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "other", [Computation("2013-05-13", "p", "may", ("m",)), Computation(DATE, "q", "may", ("m",))]
)
def test_a_member_of_which_a_part_is_of_another_date_or_other_parameters(made: Group, other: Computation) -> None:
    """Its newest run, and so its seal, is of the right ones; every check of it has passed."""
    newest = Computation(DATE, "p", "june", ("n",))
    for parts in ((other, newest), (newest,)):
        keys = DeriveStatement(mode="full", added=1, total=1, computed_by=parts).to_keys()
        made.write("a", made.vintage, keys=keys)
        made.write("c", made.vintage, a=made.head("a"), b=made.head("b"))
        if other in parts:
            message = held_message(made)
            assert f"- {made.name('a')}: parts of it were computed for other dates or with other parameters" in message
            assert f"(partition m: {other.whose}; partition n: {newest.whose})" in message
    assert made.release().outcome == "released"


def test_dates_that_differ(made: Group) -> None:
    made.write("b", 2, date="2013-05-15")
    made.write("c", 2, a=made.head("a"), b=made.head("b"))
    message = held_message(made)
    assert f"the runtime dates of the members differ ({DATE}: {made.name('a')}, {made.name('c')}; 2013-05-15" in message
    assert f"one run: `lakehouse derive {' '.join(made.members)} --upstream --downstream`" in message


def test_parameters_that_differ(made: Group) -> None:
    made.write("b", 2, parameters="q")
    made.write("c", 2, a=made.head("a"), b=made.head("b"))
    assert (
        f"the parameters of the members differ (p: {made.name('a')}, {made.name('c')}; q: {made.name('b')})"
        in held_message(made)
    )


def test_only_parameters_that_members_share_have_to_agree(made: Group) -> None:
    def write(name: str, **used: str) -> None:
        by = Computation(DATE, name, "run", used=used)
        statement = DeriveStatement("full", 1, 1, parameters=dict(used), computed_by=(by,))
        read = {"a": made.head("a"), "b": made.head("b")} if name == "c" else {}
        made.write(name, 9, parameters=name, keys=statement.to_keys(), **read)

    write("a", least="2")
    write("b", least="2", city="Kiel")
    write("c", share="5")
    made.release("again")
    assert made.vintages() == [9, 9, 9]
    write("c", city="Bonn")
    assert "the values of the parameter city of the members differ" in held_message(made)


def test_rows_are_of_the_parameters_that_they_were_computed_with(made: Group) -> None:
    """Whatever those of a later run are, which has added none."""
    statement = DeriveStatement(mode="incremental", added=0, total=1, computed_by=(Computation(DATE, "p", "one"),))
    made.write("b", 2, parameters="q", keys=statement.to_keys())
    made.write("c", 2, a=made.head("a"), b=made.head("b"))
    assert made.release().outcome == "released"


def test_a_declared_backfill_waits(made: Group) -> None:
    statement = DeriveStatement(mode="full", added=1, total=1, differs="last year's prices")
    made.write("c", 2, a=made.head("a"), b=made.head("b"), keys=statement.to_keys())
    assert "inputs that do not agree, which was declared (last year's prices)" in held_message(made)
