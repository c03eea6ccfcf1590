"""The gate: a release is held for each reason in its own words, and goes ahead on results that name its snapshots."""

from dataclasses import replace

import pytest

from lakehouse.proofs.lineage.computations import Computation
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.derived.statement import DeriveStatement
from lakehouse.steps.release.gate import Check, ReleaseHeld, Result
from lakehouse.steps.release.step import Released
from lakehouse_tests.steps.release.conftest import DATE, Group, MakeGroup

pytestmark = pytest.mark.slow


@pytest.fixture
def made(sql_group: MakeGroup) -> Group:
    """A group whose members are fit to be released."""
    group = sql_group()
    group.make()
    return group


def held_message(group: Group, checks: list[Check] | None = None, **more: object) -> str:
    """What a held release says; the pointer has not moved."""
    before = group.load_pointer()
    with pytest.raises(ReleaseHeld) as caught:
        group.release("held", checks, **more)
    assert group.load_pointer() == before
    assert not any("held" in tag for tag in group.tags())
    return caught.value.message


def test_never_run_errored_failed_and_running_are_words_of_their_own(made: Group) -> None:
    name, snapshot_id = made.name("b"), made.head("b")
    message = held_message(made, [Check(name, "runtime_date")])
    assert f"- {name}: check runtime_date was never run. To repair: judge it: `lakehouse run`" in message
    message = held_message(made, [Check(name, "runtime_date", (Result("errored", run_id="12345678-9"),))])
    assert "check runtime_date errored, so it says neither good nor bad (run 12345678)" in message
    failed = Result("failed", snapshot_id, description="One file has another date.")
    message = held_message(made, [Check(name, "runtime_date", (failed,))])
    assert (
        f"check runtime_date failed on snapshot {snapshot_id}: One file has another date. To repair: correct it"
        in message
    )
    message = held_message(made, [Check(name, "runtime_date", (Result("running", run_id="12345678-9"),))])
    assert "check runtime_date is not done yet (run 12345678)" in message
    message = held_message(made, [Check(name, "of_ones_own", (Result("passed"),))])
    assert "check of_ones_own does not name what it judged. To repair: add `snapshot id` to its metadata" in message


def test_every_reason_is_in_one_message(made: Group) -> None:
    checks = [Check(made.name(short), "good") for short in "abc"]
    message = held_message(made, checks)
    assert message.startswith(f"Release {made.declared.name} is held, for 3 reasons; readers keep the release")
    assert len(message.splitlines()) == 4


def test_a_result_of_another_snapshot_does_not_count(made: Group) -> None:
    checks = made.checks()
    was = made.head("c")
    made.write("c", 2, a=made.head("a"), b=made.head("b"))
    message = held_message(made, checks)
    assert f"check good judged snapshot {was}, and {made.head('c')} is to be released" in message
    assert made.release().outcome == "released"


def test_the_newest_result_on_the_snapshot_decides(made: Group) -> None:
    name, snapshot_id = made.name("a"), made.head("a")
    good, bad = Result("passed", snapshot_id), Result("failed", snapshot_id, description="no")
    assert "failed on snapshot" in held_message(made, [Check(name, "good", (bad, good))])
    # An answer stays an answer, though a later run could not give one, or judged what came after.
    for later in (Result("errored"), Result("running"), Result("failed", 17)):
        group = made
        assert group.release(later.outcome, [Check(name, "good", (later, good))]).outcome in ("released", "unchanged")


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


def test_a_dateless_member_may_be_of_any_day(made: Group) -> None:
    made.write("a", 2, date="2013-05-15")
    made.write("c", 2, a=made.head("a"), b=made.head("b"))
    done = made.release(dated=frozenset({made.name("b"), made.name("c")}))
    assert [member.runtime_date for member in done.members] == ["", DATE, DATE]


def test_a_middle_table_that_was_made_anew_is_named(made: Group) -> None:
    first = made.release()
    made.write("b", 2)
    message = held_message(made)
    assert f"{made.name('b')} was read in 2 versions: {made.name('c')} ← {made.name('b')}" in message
    assert f"make anew what reads it: `lakehouse derive {made.name('c')} --downstream`" in message
    assert made.open().id == first.id
    made.write("c", 2, a=made.head("a"), b=made.head("b"))
    assert made.release().outcome == "released"


def test_a_member_without_a_snapshot(sql_group: MakeGroup) -> None:
    group = sql_group()
    group.write_all({"a": 1, "b": 1})
    message = held_message(group, group.checks("a", "b"))
    assert f"{group.name('c')}: it holds nothing yet. To repair: materialize it" in message


def test_a_commit_from_outside_the_protocol(made: Group) -> None:
    table = made.load("a")
    table.append(table.scan().to_arrow())
    assert "was written outside the protocol" in held_message(made)


def test_a_step_without_rows_is_no_rewrite(made: Group) -> None:
    checks = made.checks()
    base = read_bases(made.catalog, [made.name("a")])[made.name("a")]
    assert base.sealed
    attempt = Attempt("run-empty", "derive", runtime_date="2013-05-15")
    made.publish_seal(base, attempt, Seal.of(attempt, "derive", statement={}, previous=base.sealed.seal))
    assert "check good judged snapshot" in held_message(made, checks)


def test_a_dateless_member_is_released_as_the_others_read_it(made: Group) -> None:
    read = made.head("a")
    checks = made.checks()
    made.write("a", 2)  # a stream goes on
    late = Check(made.name("a"), "good", (Result("passed", made.head("a")), *checks[0].results))
    dated = frozenset({made.name("b"), made.name("c")})
    done: Released = made.release(checks=[late, *checks[1:]], dated=dated)
    assert done.members[0].snapshot_id == read
    assert made.vintages() == [1, 1, 1]


@pytest.mark.parametrize("kind", ["derive", "mirror"])
def test_a_dateless_member_is_released_as_it_was_read_by_way_of_others(made: Group, kind: str) -> None:
    """`c` is computed from `b`, which reads the stream `a`; both go on, and `b` may be no member at all."""
    first = made.head("a")
    made.write("b", 2, kind=kind, a=first)
    made.write("c", 2, b=made.head("b"))
    checks = made.checks()
    made.write("a", 3)
    if kind == "mirror":
        made.write("b", 3, kind=kind, a=made.head("a"))
    late = [Check(c.table, c.name, (*now.results, *c.results)) for c, now in zip(checks, made.checks(), strict=True)]
    members = made.members if kind == "mirror" else (made.name("a"), made.name("c"))
    wanted = [check for check in late if check.table in members]
    declared = replace(made.declared, members=members)
    done = made.release(checks=wanted, declared=declared, dated=frozenset({made.name("c")}))
    assert done.members[0].snapshot_id == first
    assert made.vintages()[-1] == 2


def test_a_dateless_member_that_nobody_read_is_released_as_it_was_judged(sql_group: MakeGroup) -> None:
    group = sql_group()
    group.write_all({"a": 1, "b": 1, "c": 1})
    judged, checks = group.head("a"), group.checks()
    group.write("a", 2)
    assert group.release(checks=checks, dated=frozenset()).members[0].snapshot_id == judged
    failed = Check(group.name("a"), "good", (Result("failed", group.head("a"), description="no"), *checks[0].results))
    assert "failed on snapshot" in held_message(group, [failed, *checks[1:]], dated=frozenset())
