"""The planner's choices, and that what it narrows by never leaves out a file that may hold a key."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pyiceberg import types as iceberg

from lakehouse.steps.cdc.merge.merge_plan import COPY, DELETES, DeltaRows, Narrowed, choose, narrow, replacing
from lakehouse.steps.cdc.plan.file_pruning import FileFacts, Holding, Touched

BUCKET = ("id", "bucket[4]")
LONG = {"id": iceberg.LongType()}
MB = 1 << 20


def _files(number: int, *, rows: int = 100_000, size: int = 10 * MB, **more: Any) -> list[FileFacts]:
    return [
        FileFacts(rows, size, bounds={"id": (n * rows, (n + 1) * rows - 1)}, parts={BUCKET: n % 4}, **more)
        for n in range(number)
    ]


def _all(files: list[FileFacts]) -> Narrowed:
    return Narrowed(files, len(files))


def test_a_few_scattered_rows_of_large_files_are_deleted_in_place() -> None:
    plan = choose(_all(_files(8)), DeltaRows(updated=8_000))
    assert (plan.strategy, plan.mode) == ("merge", DELETES)
    assert plan.rewritten[COPY] == 80 * MB  # every file has some
    assert plan.rewritten[DELETES] < plan.rewritten[COPY] / 50


def test_a_file_half_of_which_changes_is_copied() -> None:
    assert choose(_all(_files(1)), DeltaRows(updated=51_000)).mode == COPY
    assert choose(_all(_files(1)), DeltaRows(deleted=51_000)).mode == COPY
    assert choose(_all(_files(1)), DeltaRows(deleted=49_000)).mode == DELETES


def test_a_hundred_changes_copy_no_megabytes() -> None:
    """A table of four files of 0.7 MB each was copied whole for one change."""
    plan = choose(_all(_files(4, rows=25_000, size=700_000)), DeltaRows(inserted=10, updated=80, deleted=10))
    assert (plan.strategy, plan.mode) == ("merge", DELETES)
    assert plan.rewritten[DELETES] < 64 << 10


def test_deletes_do_not_pile_up_until_readers_feel_them() -> None:
    """Once half of the rows are deleted, a copy writes no more than was changed since the files were written."""
    assert choose(_all(_files(4, deleted=45_000)), DeltaRows(updated=4_000)).mode == DELETES
    plan = choose(_all(_files(4, deleted=49_500)), DeltaRows(updated=4_000))
    assert plan.mode == COPY
    assert "readers" in plan.reasons[1]


def test_delete_files_do_not_pile_up_until_readers_feel_them() -> None:
    """Five batches had left fifty of them beside 90 MB: a read took 1.56 times as long as of a copy."""
    few, rows = DeltaRows(updated=4_000), 200_000
    assert choose(_all(_files(23, rows=rows, size=4 * MB, deleted=100)), few).mode == DELETES
    plan = choose(_all(_files(24, rows=rows, size=4 * MB, deleted=100)), few)
    assert plan.mode == COPY
    assert plan.reasons[1] == "copy-on-write: readers open 24 delete files beside 100.7 MB"
    # Beside so many bytes they cost a reader little, and a copy costs much.
    assert choose(_all(_files(100, rows=rows, size=128 * MB, deleted=100)), few).mode == DELETES
    # A small table is read soon either way, and writes little.
    assert choose(_all(_files(31, rows=rows, size=MB, deleted=100)), few).mode == DELETES
    # Files that have none count for nothing: they are as they are.
    assert choose(_all(_files(500, rows=rows, size=4 * MB)), few).mode == DELETES


def test_what_a_delete_file_named_before_is_written_again() -> None:
    rows, few = DeltaRows(updated=100), _files(1, deleted=1_000)
    many = choose(_all(_files(1, deleted=41_000)), rows)
    assert many.rewritten[DELETES] - choose(_all(few), rows).rewritten[DELETES] == 3 * 40_000
    # When that is more than a copy, the copy is taken.
    assert choose(_all(_files(1, size=100_000, deleted=41_000)), rows).mode == COPY


def test_small_files_are_copied_and_new_rows_come_along() -> None:
    plan = choose(_all(_files(4, rows=1_000, size=15_000)), DeltaRows(inserted=5, updated=1))
    assert (plan.strategy, plan.mode) == ("merge", COPY)


def test_new_rows_beside_many_known_ones_are_appended() -> None:
    assert choose(_all(_files(8)), DeltaRows(inserted=5, updated=800)).strategy == "merge+append"
    assert choose(_all(_files(8)), DeltaRows(updated=800)).strategy == "merge"


def test_only_new_rows_are_appended() -> None:
    plan = choose(_all(_files(8)), DeltaRows(inserted=5))
    assert (plan.strategy, plan.mode, plan.rewritten) == ("append", None, {})
    assert choose(Narrowed([], 8), DeltaRows(inserted=5)).reasons == ("no file can hold one of the keys",)


def test_nothing_is_written_for_nothing() -> None:
    assert choose(_all(_files(8)), DeltaRows()).strategy == "nothing"


def test_a_declared_mode_is_kept_to() -> None:
    assert choose(_all(_files(8)), DeltaRows(updated=1), declared_mode=COPY).mode == COPY
    assert choose(_all(_files(1, rows=10, size=10)), DeltaRows(updated=9), declared_mode=DELETES).mode == DELETES


def test_a_plan_tells_a_reader_and_no_value() -> None:
    narrowed = narrow(_files(8), Touched({"id": (123_456, 123_999)}, {BUCKET: frozenset({1})}), LONG)
    document = choose(narrowed, DeltaRows(updated=2)).because("a note").to_json()
    assert "123456" not in document
    read = json.loads(document)
    assert read["strategy"] == "merge"
    assert read["files"] == "1 of 8"
    assert read["why"][:2] == ["a note", "keys lie in 1 of 8 files (1 of 4 buckets of id, a range of id)"]
    assert json.loads(replacing(7, "because").to_json())["predicted"]["inserted"] == 7


def test_narrowing_by_bucket_and_range() -> None:
    files = _files(8)
    narrowed = narrow(files, Touched({"id": (250_000, 450_000)}, {BUCKET: frozenset({2, 3})}), LONG)
    assert narrowed.files == [files[2], files[3]]
    assert narrowed.literals == (
        "lake.system.bucket(4, t.`id`) IN (2, 3)",
        "t.`id` BETWEEN 250000L AND 450000L",
    )


def test_bounds_that_leave_no_file_out_are_no_condition_of_the_merge() -> None:
    """Each batch has other bounds: Spark would compile its whole plan anew, and the JVM compile that again."""
    keys = Touched({"id": (5, 799_000)})
    narrowed = narrow(_files(8), keys, LONG)
    assert narrowed.literals == ("t.`id` BETWEEN 5L AND 799000L",)  # the ledger may have files that they leave out
    assert (narrowed.pruning, choose(narrowed, DeltaRows(updated=2)).literals) == ((), ())
    fewer = narrow(_files(9), keys, LONG)
    assert fewer.pruning == choose(fewer, DeltaRows(updated=2)).literals == narrowed.literals


def test_every_bucket_is_no_condition() -> None:
    narrowed = narrow(_files(8), Touched({}, {BUCKET: frozenset(range(4))}), LONG)
    assert (narrowed.literals, len(narrowed.files)) == ((), 8)


def test_nothing_is_told_of_a_column_with_nulls() -> None:
    touched = Touched({"id": (1, 2)}, {BUCKET: frozenset({1})}, nulls=frozenset({"id"}))
    assert (narrow(_files(8), touched, LONG).literals, len(narrow(_files(8), touched, LONG).files)) == ((), 8)


def test_a_file_without_bounds_may_hold_anything() -> None:
    touched = Touched({"id": (5, 5)}, {BUCKET: frozenset({1})})
    assert FileFacts(1, 1).may_hold(touched)
    assert not FileFacts(1, 1, bounds={"id": (6, 9)}).may_hold(touched)
    assert not FileFacts(1, 1, parts={BUCKET: 2}).may_hold(touched)
    assert FileFacts(1, 1, parts={("id", "bucket[8]"): 2}).may_hold(touched)  # of an older partitioning


def test_values_of_a_column_that_is_a_partition() -> None:
    touched = Touched({}, {("origin", "identity"): frozenset({"JFK", "E'R"})})
    files = [FileFacts(1, 1, parts={("origin", "identity"): origin}) for origin in ("JFK", "LGA", None)]
    narrowed = narrow(files, touched, {"origin": iceberg.StringType()})
    assert len(narrowed.files) == 1
    assert narrowed.literals == ("t.`origin` IN (CAST(X'452752' AS STRING), CAST(X'4a464b' AS STRING))",)


def test_rows_without_those_deleted() -> None:
    assert Holding(_files(2, rows=10, deleted=3)).rows == 14


@given(
    keys=st.sets(st.integers(0, 999), min_size=1, max_size=20),
    files=st.lists(st.sets(st.integers(0, 999), min_size=1, max_size=20), max_size=12),
)
def test_no_file_with_a_key_is_left_out(keys: set[int], files: list[set[int]]) -> None:
    facts = [FileFacts(len(file_keys), 1, bounds={"id": (min(file_keys), max(file_keys))}) for file_keys in files]
    touched = Touched({"id": (min(keys), max(keys))})
    kept = narrow(facts, touched, LONG).files
    assert all(fact in kept for fact, file_keys in zip(facts, files, strict=True) if file_keys & keys)


@given(
    files=st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 10**9), st.integers(0, 10**6)), max_size=30),
    rows=st.builds(DeltaRows, st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6)),
)
def test_every_batch_has_a_plan(files: list[tuple[int, int, int]], rows: DeltaRows) -> None:
    facts = [FileFacts(count, size, min(count, deleted)) for count, size, deleted in files]
    plan = choose(_all(facts), rows)
    assert (plan.mode is None) == (plan.strategy in ("nothing", "append"))
    assert (plan.strategy == "nothing") == (rows == DeltaRows())
    assert plan.reasons
    assert all(size >= 0 for size in plan.rewritten.values())


@given(
    files=st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 10**9)), min_size=1, max_size=30),
    rows=st.builds(DeltaRows, st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6)),
)
def test_files_without_deletes_are_copied_only_within_the_bound(files: list[tuple[int, int]], rows: DeltaRows) -> None:
    facts = [FileFacts(count, size) for count, size in files]
    plan = choose(_all(facts), rows)
    if plan.mode == COPY:
        row_bytes = sum(file.bytes for file in facts) / sum(file.rows for file in facts)
        allowed = (64 << 10) + 2 * rows.changed * row_bytes
        assert plan.rewritten[COPY] <= max(allowed + 1, plan.rewritten[DELETES])
