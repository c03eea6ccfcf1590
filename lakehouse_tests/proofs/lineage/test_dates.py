"""Every live file has the date of the run that it comes from; told by manifests, and by a scan where they cannot."""

from datetime import date
from pathlib import Path

import pytest
from pyarrow import ArrowInvalid

from lakehouse.declarations import ByDay
from lakehouse.proofs.lineage.dates import DatesReport, check_dates
from lakehouse.proofs.lineage.expected_dates import CannotCheckDates
from lakehouse_tests.proofs.audit.document import Document, seals
from lakehouse_tests.proofs.lineage.computed import DAY, OTHER_DAY, A, B, Computed, derived, lake_of

THIRD_DAY = date(2024, 7, 1)


@pytest.fixture
def lake(tmp_path: Path) -> Computed:
    """B is computed as a whole, `derived.log` grows run by run."""
    lake = lake_of(tmp_path, [A], derived(B, A), derived("derived.log", A, mode="incremental"))
    lake.source()
    return lake


LOG = "derived.log"


def dates(lake: Computed, name: str = B) -> DatesReport:
    return check_dates(lake.load(name), lake.head(name), lake.declarations.derived[name])


def kinds(report: DatesReport) -> set[str]:
    return {finding.kind for finding in report.findings}


def test_a_sound_table_passes_without_a_look_at_its_files(lake: Computed) -> None:
    lake.compute(B)
    lake.unreadable(B)
    proof = dates(lake)
    assert proof.passed
    assert (proof.files, proof.rows, proof.scanned, proof.decided_by) == (1, 2, 0, "manifests")
    assert proof.expected == (DAY,)


def test_a_date_of_another_run_fails_and_says_which_was_expected_of_whom(lake: Computed) -> None:
    lake.compute(B, rows=[OTHER_DAY, OTHER_DAY], run="run-7")
    lake.unreadable(B)
    proof = dates(lake)
    assert kinds(proof) == {"other_date"}
    assert f"holds 2 rows of {OTHER_DAY}; run run-7 is of {DAY}" in proof.findings[0].message
    assert proof.scanned == 0, "bounds are enough to tell"


def test_one_row_of_another_date_is_found_by_a_look_at_that_file_alone(lake: Computed) -> None:
    lake.compute(LOG)
    lake.unreadable(LOG)
    lake.compute(LOG, rows=[DAY, OTHER_DAY, DAY])
    proof = dates(lake, LOG)
    assert kinds(proof) == {"other_date"}
    assert f"holds 1 rows of {OTHER_DAY}" in proof.findings[0].message
    assert (proof.files, proof.scanned, proof.decided_by) == (2, 1, "manifests and scan")


@pytest.mark.parametrize("rows", [[None, None], [DAY, None]])
def test_a_row_without_a_date_fails(lake: Computed, rows: list[date | None]) -> None:
    lake.relax(B)
    lake.compute(B, rows=rows)
    lake.unreadable(B)
    proof = dates(lake)
    assert kinds(proof) == {"null_date"}
    assert f"holds {rows.count(None)} rows without a runtime date" in proof.findings[0].message


def test_a_file_without_statistics_is_read(lake: Computed) -> None:
    with lake.load(B).transaction() as change:
        change.set_properties({"write.metadata.metrics.column.runtime_date": "none"})
    lake.compute(B)
    assert (dates(lake).passed, dates(lake).scanned) == (True, 1)
    lake.compute(B, rows=[DAY, OTHER_DAY])
    assert kinds(dates(lake)) == {"other_date"}
    lake.unreadable(B)
    with pytest.raises(ArrowInvalid):
        dates(lake)


def test_each_run_of_a_growing_table_has_its_own_date(lake: Computed) -> None:
    lake.compute(LOG)
    lake.compute(LOG, day=OTHER_DAY)
    lake.unreadable(LOG)
    proof = dates(lake, LOG)
    assert proof.passed
    assert proof.expected == (DAY, OTHER_DAY)
    lake.compute(LOG, day=THIRD_DAY, rows=[OTHER_DAY])
    proof = dates(lake, LOG)
    assert kinds(proof) == {"other_date"}, "the date of another run of the table is still not this run's"


def test_the_last_run_alone_counts_for_a_table_that_is_computed_as_a_whole(lake: Computed) -> None:
    lake.compute(B)
    [old] = [task.file for task in lake.load(B).scan().plan_files()]
    lake.compute(B, day=OTHER_DAY)
    with lake.load(B).transaction() as change, change.update_snapshot().fast_append() as append:
        append.append_data_file(old)
    proof = dates(lake)
    assert kinds(proof) == {"other_date", "unsealed"}
    assert f"is of {OTHER_DAY}" in next(f.message for f in proof.findings if f.kind == "other_date")


def test_partitions_are_computed_by_runs_of_their_own(tmp_path: Path) -> None:
    days = ByDay(column="runtime_date", start=DAY)
    parted = derived(B, A, partitions=days, partitioning=("day(runtime_date)",))
    lake = lake_of(tmp_path, [A], parted)
    lake.source()
    lake.compute(B)
    lake.compute(B, day=OTHER_DAY)
    assert dates(lake).passed
    assert dates(lake).expected == (DAY, OTHER_DAY)


def test_a_compaction_is_read_and_may_hold_the_dates_of_all_runs(lake: Computed) -> None:
    lake.compute(LOG)
    lake.compute(LOG, day=OTHER_DAY)
    lake.rewrite(LOG)
    proof = dates(lake, LOG)
    assert proof.passed
    assert (proof.files, proof.scanned, proof.decided_by) == (1, 1, "manifests and scan")
    lake.compute(LOG, rows=[THIRD_DAY])
    lake.rewrite(LOG)
    proof = dates(lake, LOG)
    assert kinds(proof) == {"other_date"}
    assert f"every run of the table is of {DAY} or {OTHER_DAY}" in proof.findings[0].message


def test_a_compaction_of_one_date_needs_no_look(lake: Computed) -> None:
    lake.compute(B)
    lake.rewrite(B)
    lake.maintain(B)
    lake.unreadable(B)
    assert dates(lake).passed
    assert dates(lake).expected == (DAY,), "and not the day on which somebody tidied up"


def test_rows_that_no_run_has_sealed_fail(lake: Computed) -> None:
    lake.compute(LOG)
    table = lake.load(LOG)
    table.append(table.scan().to_arrow())
    assert kinds(dates(lake, LOG)) == {"unsealed"}


def test_a_table_whose_rows_nobody_sealed_fails(lake: Computed) -> None:
    lake.compute(B)
    table = lake.load(B)
    lake.catalog.create_table(("derived", "stolen"), table.schema())
    lake.load("derived.stolen").append(table.scan().to_arrow())
    declared = derived("derived.stolen", A)
    proof = check_dates(lake.load("derived.stolen"), lake.head("derived.stolen"), declared)
    assert kinds(proof) == {"unsealed"}


def test_runs_whose_seals_have_expired_are_told_apart(lake: Computed) -> None:
    first = lake.compute(LOG)
    lake.compute(LOG, day=OTHER_DAY)
    lake.forget(LOG, first, *lake.before(LOG, first))
    lake.unreadable(LOG)
    proof = dates(lake, LOG)
    assert proof.passed
    assert proof.beyond_seals == {DAY: 1}
    assert proof.expected == (OTHER_DAY,)


def test_a_null_is_wrong_whoever_wrote_it(lake: Computed) -> None:
    lake.relax(LOG)
    first = lake.compute(LOG, rows=[DAY, None])
    lake.compute(LOG)
    lake.forget(LOG, first, *lake.before(LOG, first))
    assert kinds(dates(lake, LOG)) == {"null_date"}


@pytest.mark.parametrize("name", [B, LOG])
def test_an_edited_seal_fails(lake: Computed, name: str) -> None:
    lake.compute(name)

    def forge(document: Document) -> None:
        seals(document)[0]["lakehouse.runtime_date"] = OTHER_DAY.isoformat()

    lake.edit(name, forge)
    assert kinds(dates(lake, name)) == {"seal_edited"}


def test_without_the_seal_of_the_last_run_there_is_no_verdict(lake: Computed) -> None:
    first = lake.compute(B)
    lake.maintain(B)
    lake.forget(B, first, *lake.before(B, first))
    with pytest.raises(CannotCheckDates, match="has expired"):
        dates(lake)
    with pytest.raises(CannotCheckDates, match="snapshot 1 has expired"):
        check_dates(lake.load(B), 1, lake.declarations.derived[B])


def test_an_empty_table_has_no_wrong_date(lake: Computed) -> None:
    lake.compute(B, rows=[])
    assert (dates(lake).passed, dates(lake).decided_by) == (True, "empty")
