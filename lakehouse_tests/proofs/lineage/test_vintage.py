"""Two ways to one ancestor have to name one content of it; what has expired is told and never passed over."""

from pathlib import Path

import pytest
from pyiceberg.exceptions import ForbiddenError
from pyiceberg.table import Table

from lakehouse.iceberg.names import split_catalog
from lakehouse.proofs.lineage.origins import Origin
from lakehouse.proofs.lineage.vintage import Vintage, check_vintage
from lakehouse.protocol.catalog.change import TableChange, remove_snapshots
from lakehouse_tests.proofs.audit.document import seals
from lakehouse_tests.proofs.lineage.computed import TOP, A, B, C, Computed, derived, lake_of

pytestmark = pytest.mark.slow


def vintage(lake: Computed, *names: str) -> Vintage:
    return check_vintage(lake.load, {name: lake.head(name) for name in names or (TOP,)})


def test_one_version_of_the_shared_ancestor_passes_and_every_reading_is_told(lake: Computed) -> None:
    seen = lake.source()
    lake.compute(B)
    lake.compute(C)
    lake.compute(TOP)
    verdict = vintage(lake)
    assert verdict.passed
    paths = {reading.path_text for reading in verdict.readings}
    assert paths == {TOP, f"{TOP} ← {B}", f"{TOP} ← {C}", f"{TOP} ← {B} ← {A}"}
    [source] = [reading for reading in verdict.readings if reading.table == A]
    assert source.snapshot_id == seen
    assert source.seal is not None
    assert source.seal.run_id == "ingest"


def _two_versions(lake: Computed) -> tuple[int, int]:
    """B is computed of an older version of A than C."""
    old = lake.source()
    lake.compute(B)
    new = lake.source()
    lake.compute(C)
    lake.compute(TOP)
    return old, new


def test_two_versions_fail_with_both_paths_and_what_to_compute_again(lake: Computed) -> None:
    old, new = _two_versions(lake)
    verdict = vintage(lake)
    assert not verdict.passed
    assert verdict.undecided == ()
    [difference] = verdict.differences
    assert difference.ancestor == A
    assert difference.paths == {
        f"snapshot {old}": [f"{TOP} ← {B} ← {A}"],
        f"snapshot {new}": [f"{TOP} ← {C} ← {A}"],
    }
    assert difference.outdated == (B, TOP)
    assert f"{TOP} ← {B} ← {A} at snapshot {old} (run ingest)" in str(difference)


@pytest.mark.parametrize("between", ["rewrite", "maintain", "empty"])
def test_what_leaves_the_rows_as_they_are_is_no_difference(lake: Computed, between: str) -> None:
    lake.source()
    lake.compute(B)
    {"rewrite": lake.rewrite, "maintain": lake.maintain, "empty": lambda name: lake.source(name, 0)}[between](A)
    lake.compute(C)
    lake.compute(TOP)
    assert lake.head(A) not in {r.snapshot_id for r in vintage(lake, B).readings}, "they were computed of two snapshots"
    verdict = vintage(lake)
    assert verdict.passed, [str(each) for each in (*verdict.differences, *verdict.undecided)]


def test_a_rewrite_does_not_hide_the_append_beside_it(lake: Computed) -> None:
    lake.source()
    lake.compute(B)
    lake.source()
    lake.rewrite(A)
    lake.compute(C)
    lake.compute(TOP)
    assert [each.ancestor for each in vintage(lake).differences] == [A]


def test_a_member_at_another_version_than_the_one_computed_from_differs(lake: Computed) -> None:
    lake.source()
    lake.compute(B)
    lake.compute(C)
    lake.compute(TOP)
    assert vintage(lake, B, C, TOP).passed
    lake.compute(B)
    verdict = vintage(lake, B, C, TOP)
    [difference] = verdict.differences
    assert list(difference.paths.values()) == [[f"{TOP} ← {B}"], [B]]
    assert difference.outdated == (TOP,)
    assert vintage(lake, TOP).passed, "what TOP was computed from has not changed"


def test_versions_on_two_lines_differ(lake: Computed) -> None:
    first = lake.source()
    lake.source()
    lake.compute(B)
    lake.load(A).manage_snapshots().set_current_snapshot(first).commit()
    lake.source()
    lake.compute(C)
    lake.compute(TOP)
    assert [each.ancestor for each in vintage(lake).differences] == [A]


def test_an_expired_version_of_a_shared_ancestor_is_undecided(lake: Computed) -> None:
    old, new = _two_versions(lake)
    lake.forget(A, old, *lake.before(A, old))
    verdict = vintage(lake)
    assert not verdict.passed
    assert verdict.differences == ()
    [undecided] = verdict.undecided
    assert str(old) in str(undecided)
    assert str(new) in str(undecided)
    assert "expired" in str(undecided)


def test_versions_with_a_gap_between_them_differ_if_a_change_is_still_seen(lake: Computed) -> None:
    old = lake.source()
    lake.compute(B)
    lake.source()
    gap = lake.before(A, lake.head(A))[1]  # not the rows of this append, but the seal before them
    lake.source()
    lake.compute(C)
    lake.compute(TOP)
    assert gap == old
    middle = lake.before(A, lake.head(A))[1]
    lake.forget(A, middle)
    assert [each.ancestor for each in vintage(lake).differences] == [A]


def test_an_expired_step_of_a_computed_table_leaves_its_upstream_undecided(lake: Computed) -> None:
    lake.source()
    read = lake.compute(B)
    lake.compute(C)
    lake.compute(TOP)
    lake.compute(B)
    lake.forget(B, read, *lake.before(B, read))
    verdict = vintage(lake)
    assert not verdict.passed
    assert any("nobody can say what it was computed from" in str(each) for each in verdict.undecided)


def test_an_expired_source_is_no_doubt_as_it_is_computed_of_nothing(lake: Computed) -> None:
    read = lake.source()
    lake.compute(B)
    lake.compute(C)
    lake.compute(TOP)
    lake.source()
    lake.forget(A, read, *lake.before(A, read))
    assert vintage(lake).passed


def test_a_table_that_is_gone_is_undecided(lake: Computed) -> None:
    lake.source()
    lake.compute(B)
    lake.compute(C)
    lake.compute(TOP)
    lake.catalog.drop_table(tuple(A.split(".")))
    assert [f"{A} does not exist any more" in str(each) for each in vintage(lake).undecided] == [True]


def test_an_edited_seal_on_the_way_is_no_proof(lake: Computed) -> None:
    old, new = _two_versions(lake)

    def forge(document: dict) -> None:
        summary = seals(document)[0]
        summary["lakehouse.inputs"] = summary["lakehouse.inputs"].replace(str(old), str(new))

    lake.edit(B, forge)
    verdict = vintage(lake)
    assert not verdict.passed
    assert "changed after it was written" in verdict.broken[0]


def test_the_statement_of_the_step_counts_and_not_that_of_maintenance(lake: Computed) -> None:
    _two_versions(lake)
    lake.maintain(B)
    lake.maintain(TOP)
    assert [each.ancestor for each in vintage(lake).differences] == [A]


def test_every_snapshot_is_looked_at_once_however_many_paths_lead_to_it(tmp_path: Path) -> None:
    """Two tables, each computed again and again from both: with every round there are twice as many paths."""
    lake = lake_of(tmp_path, [A], derived(B, A), derived(C, A))
    lake.source()
    read = {A: lake.head(A)}
    for _ in range(18):
        read = {name: lake.compute(name, of=read, rows=[]) for name in (B, C)}
    tables = {name: lake.load(name) for name in (A, B, C)}
    asked: list[str] = []

    def load(name: str) -> Table:
        asked.append(name)
        return tables[name]

    verdict = check_vintage(load, read)
    assert verdict.passed, "none of those commits has changed a row"
    assert sorted(asked) == sorted(tables)
    assert len(verdict.readings) == 2 * 18 + 1


def _in_parts(lake: Computed, **groups: dict[str, int]) -> None:
    """B is computed by partitions, each from inputs of its own; the last are those of its newest run."""
    origins = [Origin(of, (named.replace("rest", "*"),)) for named, of in groups.items()]
    lake.compute(B, of=origins[-1].inputs, computed_from=origins)


def test_partitions_of_two_versions_differ_and_are_named_wherever_the_table_is_read(lake: Computed) -> None:
    old = lake.source()
    new = lake.source()
    _in_parts(lake, may={A: old}, june={A: new})
    lake.compute(C)
    lake.compute(TOP)
    [difference] = vintage(lake, B).differences
    assert difference.paths == {
        f"snapshot {old}": [f"{B} (partition may) ← {A}"],
        f"snapshot {new}": [f"{B} (partition june) ← {A}"],
    }
    assert difference.outdated == (B,)
    [difference] = vintage(lake, TOP).differences
    assert difference.paths[f"snapshot {old}"] == [f"{TOP} ← {B} (partition may) ← {A}"]
    assert difference.outdated == (B, TOP)
    assert [each.ancestor for each in vintage(lake, A, B).differences] == [A], "as members of one release"


def test_what_a_whole_run_left_beside_newer_partitions_is_named_as_the_rest(lake: Computed) -> None:
    old, new = lake.source(), lake.source()
    _in_parts(lake, rest={A: old}, june={A: new})
    assert f"{B} (its other partitions) ← {A} at snapshot {old}" in str(vintage(lake, B).differences[0])


def test_partitions_of_one_content_are_of_one_vintage_whatever_the_snapshots(lake: Computed) -> None:
    old = lake.source()
    lake.rewrite(A)
    lake.maintain(A)
    _in_parts(lake, may={A: old}, june={A: lake.head(A)})
    assert vintage(lake, B).passed


def test_parts_that_the_seal_no_longer_tells_apart_are_undecided(lake: Computed) -> None:
    lake.source()
    _in_parts(lake, may={}, june={A: lake.head(A)})
    [undecided] = vintage(lake, B).undecided
    assert str(undecided).startswith(f"{B}: partition may of {B} ")


def test_rows_that_only_a_rebuild_can_renew_are_told_as_such(tmp_path: Path) -> None:
    """`derived.log` follows A and reads another table in full; the new rows of A alone would not renew the old ones."""
    log, other = "derived.log", "raw.other"
    lake = lake_of(tmp_path, [A, other], derived(log, A, other, mode="incremental"), derived(TOP, log, A, other))
    lake.source()
    lake.source(other)
    lake.compute(log, follows=A)
    lake.source()
    lake.compute(TOP)
    verdict = vintage(lake)
    assert [each.ancestor for each in verdict.differences] == [A]
    assert not verdict.rebuild, "the next run reads on"
    lake.compute(log, follows=A)
    old = {A: lake.head(A), other: lake.head(other)}
    lake.source(other)
    lake.compute(TOP)
    verdict = vintage(lake)
    assert [each.ancestor for each in verdict.differences] == [other]
    assert verdict.rebuild
    new = {**old, other: lake.head(other)}
    lake.compute(log, follows=A, of=new, computed_from=[Origin(old), Origin(new)])
    assert f"{log} (some of its rows) ← {other}" in str(vintage(lake, log).differences[0])


def _elsewhere(lake: Computed, *, hidden: str = "") -> Vintage:
    """The top table as another catalog's: what it names there is asked for there."""

    def load(name: str) -> Table:
        catalog, table = split_catalog(name)
        assert catalog == "azure", f"{name} is no table of ours"
        if table == hidden:
            raise ForbiddenError(f"no privilege on {table}")
        return lake.load(table)

    return check_vintage(load, {f"azure:{TOP}": lake.head(TOP)})


def test_the_ways_go_on_in_another_catalog(lake: Computed) -> None:
    _two_versions(lake)
    [difference] = _elsewhere(lake).differences
    assert difference.ancestor == f"azure:{A}"
    assert f"azure:{TOP} ← azure:{B} ← azure:{A}" in str(difference)


def test_what_another_catalog_does_not_show_is_compared_by_its_snapshots_alone(lake: Computed) -> None:
    lake.source()
    lake.compute(B)
    lake.compute(C)
    lake.compute(TOP)
    assert _elsewhere(lake, hidden=A).passed
    lake.source()
    lake.compute(C)
    lake.compute(TOP)
    vintage_elsewhere = _elsewhere(lake, hidden=A)
    assert [undecided.reason for undecided in vintage_elsewhere.undecided] == [
        f"azure:{A} is read at several snapshots, and its catalog does not show it"
    ]


def test_a_table_elsewhere_that_nobody_seals_is_read_as_it_is(lake: Computed) -> None:
    """Its history has expired, and there was no seal in it: it says nothing, and hides nothing of ours."""
    lake.source()
    table = lake.catalog.create_table(("raw", "plain"), lake.load(A).schema())
    for _ in range(2):
        table.append(lake.load(A).scan().to_arrow())
    first, last = (entry.snapshot_id for entry in table.metadata.snapshot_log)
    lake.catalog.commit_tables([TableChange(("raw", "plain"), (), (remove_snapshots([first]),))])

    def load(_: str) -> Table:
        return lake.load("raw.plain")

    assert check_vintage(load, {"azure:raw.plain": last}).passed
    assert not check_vintage(load, {"raw.plain": last}).passed
