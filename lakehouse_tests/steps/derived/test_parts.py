"""Which part of a table was computed from which snapshots is never forgotten, and stays small.

Guarded mechanism: the running map in the seal, `derived.computed_from`.
"""

from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

import pyspark.sql.types as T  # noqa: N812
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakehouse.declarations import ByDay, ByMonth, ByValue, Derived, Partitions
from lakehouse.proofs.lineage.computations import Computation
from lakehouse.proofs.lineage.origins import REST, Origin
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.derived.inputs.agreement import InputsDisagree
from lakehouse.steps.derived.inputs.inputs import Input
from lakehouse.steps.derived.partition_provenance import MOST_GROUPS, computations_after, mixed, origins_after
from lakehouse.steps.derived.parts import DerivedPart, part_of
from lakehouse.steps.derived.plan import prepare
from lakehouse.steps.derived.refusals import RowsOfOthers
from lakehouse.steps.derived.statement import KIND, DeriveStatement
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.proofs.lineage.computed import A, Computed, lake_of
from lakehouse_tests.steps.derived.workshop import TOTALS, Workshop, make_workshop, no_spark, table_of

FIRST = date(2013, 1, 1)
DAYS = [(FIRST + timedelta(n)).isoformat() for n in range(30)]
OTHER = "raw.other"


def by(partitions: Partitions) -> Derived:
    layout = {ByDay: "day(day)", ByMonth: "month(day)", ByValue: "shop"}[type(partitions)]
    table = table_of("d.parts", {"day": T.DateType(), "shop": T.StringType()}, derived=True, partitioning=(layout,))
    return Derived(table=table, inputs={"a": A}, compute="SELECT 1", partitions=partitions)


BY_DAY = by(ByDay(column="day", start=FIRST))


def by_bought() -> Derived:
    table = table_of("d.parts", {"bought": T.DateType()}, derived=True, partitioning=("day(bought)",))
    return Derived(table=table, inputs={"a": A}, compute="SELECT 1", partitions=ByDay(column="bought", start=FIRST))


@pytest.fixture
def lake(tmp_path: Path) -> Computed:
    """Two tables that somebody writes."""
    lake = lake_of(tmp_path, [A, OTHER])
    lake.source()
    lake.source(OTHER)
    return lake


def inputs_of(lake: Computed, *names: str, **snapshots: int) -> list[Input]:
    """Inputs where `main` is, or at the snapshot that is told."""
    return [Input(n, n, lake.load(n), snapshots.get(n, lake.head(n)), False, True, None) for n in names or (A,)]


def seal_of(inputs: list[Input], origins: tuple[Origin, ...], keyed: str) -> Seal:
    statement = DeriveStatement(mode="full", added=1, total=1, partitioned_by=keyed, computed_from=origins)
    read = {source.name: source.snapshot_id for source in inputs}
    return Seal.of(Attempt("run", "derive:d.parts"), KIND, statement=statement.to_keys(), previous=None, inputs=read)


def after(
    before: Seal | None, part: DerivedPart, inputs: list[Input], *, appending: bool = False, added: int = 1
) -> Seal:
    return seal_of(inputs, origins_after(before, part, inputs, appending=appending, added=added), part.keyed_by)


def origins_of(seal: Seal) -> dict[tuple[str, ...], dict[str, int]]:
    statement = DeriveStatement.from_keys(seal.statement)
    assert statement
    return {origin.partitions: dict(origin.inputs) for origin in statement.computed_from}


def test_a_run_of_some_days_leaves_the_others_of_what_they_were_and_one_of_all_forgets(lake: Computed) -> None:
    old = lake.head(A)
    seal = after(None, part_of(BY_DAY, DAYS[:3]), inputs_of(lake))
    new = lake.source()
    seal = after(seal, part_of(BY_DAY, DAYS[1:2]), inputs_of(lake))
    assert origins_of(seal) == {(DAYS[0], DAYS[2]): {A: old}, (DAYS[1],): {A: new}}
    assert origins_of(after(seal, DerivedPart(BY_DAY), inputs_of(lake))) == {(REST,): {A: new}}
    seal = after(seal, part_of(BY_DAY, [DAYS[0], DAYS[2]]), inputs_of(lake))
    assert origins_of(seal) == {(f"{DAYS[0]}..{DAYS[2]}",): {A: new}}


def test_what_has_the_same_rows_is_told_by_the_newest_before_what_proves_it_has_expired(lake: Computed) -> None:
    seal = after(None, part_of(BY_DAY, DAYS[:1]), inputs_of(lake))
    lake.rewrite(A)
    seal = after(seal, part_of(BY_DAY, DAYS[1:2]), inputs_of(lake))
    assert origins_of(seal) == {(f"{DAYS[0]}..{DAYS[1]}",): {A: lake.head(A)}}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs=st.lists(st.tuples(st.sets(st.integers(0, 3), max_size=3), st.integers(0, 2)), max_size=8))
def test_origins_are_what_a_model_that_keeps_every_partition_says(
    versions: tuple[Computed, list[int]], runs: list[tuple[set[int], int]]
) -> None:
    lake, snapshots = versions
    table, keys, model, seal = lake.load(A), DAYS[:4], dict[str, int](), None
    for numbers, version in runs:
        chosen = [keys[n] for n in sorted(numbers)]
        inputs = [Input("a", A, table, snapshots[version], False, True, None)]
        seal = after(seal, part_of(BY_DAY, chosen), inputs)
        model |= dict.fromkeys(chosen or keys, snapshots[version])
    origins = origins_of(seal) if seal else {}
    named = {key: read[A] for shown, read in origins.items() for key in DerivedPart(BY_DAY).keys_in(shown)}
    rest = next((read[A] for shown, read in origins.items() if REST in shown), None)
    assert {key: named.get(key, rest) for key in model} == model


@pytest.fixture(name="versions")
def three_versions(lake: Computed) -> tuple[Computed, list[int]]:
    return lake, [lake.source() for _ in range(3)]


def test_the_seal_stays_small_and_says_what_it_no_longer_tells_apart(lake: Computed) -> None:
    table, seal = lake.load(A), None

    def version(number: int) -> list[Input]:
        return [Input("a", A, table, number, False, True, None)]

    for number, key in enumerate(DAYS):
        seal = after(seal, part_of(BY_DAY, [key]), version(number))
    assert seal
    origins = origins_of(seal)
    assert len(origins) == MOST_GROUPS
    lost = DAYS[: 31 - MOST_GROUPS]
    assert origins[f"{lost[0]}..{lost[-1]}",] == {}
    assert origins[DAYS[-1],] == {A: len(DAYS) - 1}
    assert {} not in origins_of(after(seal, part_of(BY_DAY, lost), version(len(DAYS)))).values(), (
        "computed anew, so known"
    )


@pytest.mark.parametrize(
    ("partitions", "keys"),
    [
        (ByValue(column="shop", values=("Kiel", "Bonn")), ["Bonn", "Kiel"]),
        (ByDay(column="day", start=FIRST, end=date(2013, 1, 4)), DAYS[:3]),
        (ByMonth(column="day", start=FIRST, end=date(2013, 3, 1)), ["2013-01-01", "2013-02-01"]),
    ],
)
def test_nothing_is_left_of_a_run_of_all_once_every_partition_was_computed_again(
    partitions: Partitions, keys: list[str]
) -> None:
    part = part_of(by(partitions), keys)
    assert part.every == set(keys)
    assert mixed({"old": (REST,)}, part, "new", appending=False) == {"new": part.shown}
    some = part_of(by(partitions), keys[:1])
    assert mixed({"old": (REST,)}, some, "new", appending=False) == {"old": (REST,), "new": some.shown}
    assert DerivedPart(BY_DAY).every is None


def computed(runs: Sequence[tuple[DerivedPart, str, str]], *, appending: bool = False) -> list[Computation]:
    """What the seals of some runs say at last: part, date and digest of parameters of each."""
    seal, computations = None, ()
    for number, (part, day, digest) in enumerate(runs):
        attempt = Attempt(f"run-{number}", "derive:d.parts", runtime_date=day, parameters_digest=digest)
        computations = computations_after(seal, part, attempt, appending=appending, added=1)
        statement = DeriveStatement(
            mode="full", added=1, total=1, partitioned_by=part.keyed_by, computed_by=computations
        )
        seal = Seal.of(attempt, KIND, statement=statement.to_keys(), previous=None)
    return list(computations)


def test_partitions_keep_the_date_and_the_parameters_that_they_were_computed_with() -> None:
    some, single = part_of(BY_DAY, DAYS[:3]), part_of(BY_DAY, DAYS[1:2])
    runs = [(some, DAYS[0], "p"), (single, DAYS[1], "p")]
    kept = Computation(DAYS[0], "p", "run-0", (DAYS[0], DAYS[2]))
    assert computed(runs) == [kept, Computation(DAYS[1], "p", "run-1", (DAYS[1],))]
    assert computed([*runs, (single, DAYS[1], "q")]) == [kept, Computation(DAYS[1], "q", "run-2", (DAYS[1],))]
    again = [*runs, (single, DAYS[0], "p")]
    assert computed(again) == [Computation(DAYS[0], "p", "run-2", (f"{DAYS[0]}..{DAYS[2]}",))]
    assert computed([*runs, (DerivedPart(BY_DAY), DAYS[5], "p")]) == [Computation(DAYS[5], "p", "run-2")]


def test_an_incremental_table_is_of_the_date_of_its_newest_run_but_of_all_its_parameters() -> None:
    whole = DerivedPart(growing())
    runs = [(whole, DAYS[0], "p"), (whole, DAYS[1], "p")]
    assert computed(runs, appending=True) == [Computation(DAYS[1], "p", "run-1")]
    runs.append((whole, DAYS[2], "q"))
    assert computed(runs, appending=True) == [
        Computation(DAYS[2], "p", "run-1"),
        Computation(DAYS[2], "q", "run-2"),
    ]


def test_a_table_of_a_date_for_each_day_says_what_it_no_longer_tells_apart() -> None:
    computations = computed([(part_of(BY_DAY, [day]), day, "p") for day in DAYS])
    assert len(computations) == MOST_GROUPS
    lost, *known = computations
    assert (lost.known, lost.partitions) == (False, (f"{DAYS[0]}..{DAYS[30 - MOST_GROUPS]}",))
    assert [computation.runtime_date for computation in known] == DAYS[31 - MOST_GROUPS :]
    assert computed([(part_of(BY_DAY, [day]), DAYS[0], "p") for day in DAYS])[0].known, "many runs of one date"


OTHERWISE = {
    "months": by(ByMonth(column="day", start=FIRST)),
    "values": by(ByValue(column="shop", values=("Kiel", "2013-01-01"))),
    "another column": by_bought(),
}


@pytest.mark.parametrize("earlier", OTHERWISE.values(), ids=OTHERWISE)
def test_keys_that_meant_other_rows_are_rows_of_which_nothing_can_be_told(lake: Computed, earlier: Derived) -> None:
    old, current = part_of(earlier, [DAYS[0]]), part_of(BY_DAY, [DAYS[0]])
    lost, known = computed([(old, DAYS[0], "p"), (current, DAYS[1], "q")])
    assert (lost.known, lost.partitions, known.partitions) == (False, (REST,), (DAYS[0],))
    assert "a run of the whole table" in lost.whose
    seal = after(after(None, old, inputs_of(lake)), current, inputs_of(lake))
    assert origins_of(seal) == {(REST,): {}, (DAYS[0],): {A: lake.head(A)}}
    assert origins_of(after(seal, part_of(BY_DAY, [DAYS[1]]), inputs_of(lake)))[REST,] == {}, (
        "until all of it is computed"
    )
    assert origins_of(after(seal, DerivedPart(BY_DAY), inputs_of(lake))) == {(REST,): {A: lake.head(A)}}
    assert computed([(old, DAYS[0], "p"), (DerivedPart(BY_DAY), DAYS[1], "q")]) == [Computation(DAYS[1], "q", "run-1")]


def test_a_run_of_all_is_told_however_partitions_are_declared_later_and_keys_of_an_older_seal_are_not(
    lake: Computed,
) -> None:
    whole, single = DerivedPart(by(ByMonth(column="day", start=FIRST))), part_of(BY_DAY, [DAYS[0]])
    kept, _ = computed([(whole, DAYS[0], "p"), (single, DAYS[1], "q")])
    assert kept == Computation(DAYS[0], "p", "run-0")
    older = seal_of(inputs_of(lake), (Origin({A: lake.head(A)}, (DAYS[1],)),), "")
    assert (REST,) in origins_of(after(older, single, inputs_of(lake)))


def growing() -> Derived:
    table = table_of("d.parts", TOTALS, derived=True, write_mode="append")
    more = {"mode": "incremental", "follows": "a"}
    return Derived(table=table, inputs={"a": A, "other": OTHER}, compute="SELECT 1", **more)  # type: ignore[arg-type]


def test_what_a_growing_table_follows_is_told_by_its_end_and_what_it_reads_in_full_by_each_version(
    lake: Computed,
) -> None:
    part, other = DerivedPart(growing()), lake.head(OTHER)
    seal = after(None, part, inputs_of(lake, A, OTHER), appending=True)
    lake.source()
    seal = after(seal, part, inputs_of(lake, A, OTHER), appending=True)
    assert origins_of(seal) == {(REST,): {A: lake.head(A), OTHER: other}}
    lake.source(OTHER)
    idle = after(seal, part, inputs_of(lake, A, OTHER), appending=True, added=0)
    assert origins_of(idle) == origins_of(seal), "no row was computed from the new version"
    lake.source()
    seal = after(idle, part, inputs_of(lake, A, OTHER), appending=True)
    statement = DeriveStatement.from_keys(seal.statement)
    assert statement
    assert [dict(each.inputs) for each in statement.computed_from] == [
        {A: lake.head(A), OTHER: other},
        {A: lake.head(A), OTHER: lake.head(OTHER)},
    ]


@pytest.fixture
def office(sql_lake: Lake) -> Workshop:
    workshop = make_workshop(sql_lake, no_spark)
    workshop.write("shops", [{"shop": "Kiel", "city": "Kiel"}])
    return workshop


def test_new_rows_are_not_put_beside_those_of_another_version_of_what_is_read_in_full(office: Workshop) -> None:
    inputs = {"sales": "sales", "shops": "shops"}
    derived = office.derived("log", compute="SELECT 1", inputs=inputs, mode="incremental", follows="sales")
    office.computed(derived)
    office.sell(("Rome", 7))
    prepare(office.step(derived, run="new sales alone"))
    office.write("shops", [{"shop": "Rome", "city": "Rome"}])
    with pytest.raises(RowsOfOthers, match=rf"another version of {office.name('shops')}, .*--rebuild"):
        prepare(office.step(derived, run="new shops"))
    prepare(office.step(derived, run="new shops", rebuild=True))
    prepare(office.step(derived, run="new shops", backfill="shops as they were known then"))
    office.computed(derived, follows=office.name("sales"))
    office.write("shops", [{"shop": "Bonn", "city": "Bonn"}])
    prepare(office.step(derived, run="nothing to add"))
    top = office.derived("top", compute="SELECT 1", inputs={"log": "log", "shops": "shops"})
    with pytest.raises(InputsDisagree) as caught:
        prepare(office.step(top, run="top"))
    assert "--downstream --rebuild " in caught.value.remedy
