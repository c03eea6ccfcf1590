"""What a list claims of a manifest is true of its entries, or it is named.

Guarded mechanism: readers leave out whole manifests by what their list says, so each line is held against the entries.
"""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import ManifestContent, ManifestFile, PartitionFieldSummary
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType

from lakehouse.iceberg.claims.listed import false_line
from lakehouse.iceberg.entries import live_entries
from lakehouse.protocol.commit import publish
from lakehouse.protocol.damage.inspection import damages
from lakehouse.protocol.seals.history import head_of
from lakehouse.steps.maintenance.verify.foreign_rewrites import RewritesProof, audit_rewrites
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.iceberg.claims.doctored import set_claim
from lakehouse_tests.iceberg.claims.relisted import Alter, relisted, set_line, snapshot_of, write_list
from lakehouse_tests.iceberg.claims.test_footer import ROWS, SCHEMA
from lakehouse_tests.protocol.commit.rewrites import delete_rows
from lakehouse_tests.steps.maintenance.verify.test_foreign_rewrites import relist

ENOUGH = 1024**3


@pytest.fixture
def name(sql_lake: Lake) -> str:
    """A table by `n`: 1, 2 and 3, the last of which is deleted by its place; and null."""
    table_name = sql_lake.create("a")
    with sql_lake.load(table_name).update_spec() as spec:
        spec.add_identity("n")
    sql_lake.write("first", a=[1, 2])
    sql_lake.write("second", a=[3])
    files = [task.file for task in sql_lake.load(table_name).scan(row_filter="n = 3").plan_files()]
    publish(sql_lake.catalog, [delete_rows(sql_lake, table_name, files)])
    return table_name


def summary(low: int | None, high: int | None, *, null: bool = False) -> list[PartitionFieldSummary]:
    ends = [None if end is None else to_bytes(LongType(), end) for end in (low, high)]
    return [PartitionFieldSummary(null, False, *ends)]


def of_data(change: Callable[[ManifestFile], object]) -> Alter:
    def alter(manifests: list[ManifestFile]) -> list[ManifestFile]:
        for manifest in manifests:
            if manifest.content == ManifestContent.DATA:
                change(manifest)
        return manifests

    return alter


def none_counted(manifest: ManifestFile) -> None:
    set_line(set_line(manifest, "added_files_count", 0), "existing_files_count", 0)


WRONG: dict[str, Alter] = {
    "none of its files counted": of_data(none_counted),
    "a lower bound of n": of_data(lambda manifest: set_line(manifest, "partitions", summary(100, 200))),
    "an upper bound of n": of_data(lambda manifest: set_line(manifest, "partitions", summary(-5, -1))),
    "no value of n": of_data(lambda manifest: set_line(manifest, "partitions", summary(None, None, null=True))),
    "2 times": lambda manifests: [*manifests, *manifests],
    "a least sequence number": of_data(lambda manifest: set_line(manifest, "min_sequence_number", 99)),
    "another partition": of_data(lambda manifest: set_line(manifest, "partition_spec_id", 7)),
    "the other content": of_data(lambda manifest: set_line(manifest, "content", ManifestContent.DELETES)),
}


def test_the_same_manifests_in_another_list_are_proven(sql_lake: Lake, name: str, tmp_path: Path) -> None:
    rewritten = relisted(sql_lake, name, tmp_path, lambda manifests: manifests)
    assert audit_rewrites(sql_lake.load(name), in_process=ENOUGH) == RewritesProof(name, proven=(rewritten,))
    looser = relisted(
        sql_lake, name, tmp_path, of_data(lambda m: set_line(m, "partitions", summary(-10, 10, null=True)))
    )
    left_out = relisted(sql_lake, name, tmp_path, of_data(lambda m: set_line(m, "partitions", None)))
    proof = audit_rewrites(sql_lake.load(name), in_process=ENOUGH)
    assert proof == RewritesProof(name, proven=(left_out, looser, rewritten))
    assert damages(sql_lake.load(name), left_out, depth="ends") == []


@pytest.mark.parametrize("column", ["truth", "number", "amount", "big", "day", "moment", "text"])
def test_what_a_writer_claims_is_true(sql_lake: Lake, column: str) -> None:
    table = sql_lake.catalog.create_table((sql_lake.namespace, "a"), SCHEMA)
    with table.update_spec() as spec:
        spec.add_field(column, IdentityTransform(), "part")
    table.append(pa.Table.from_pylist(ROWS, schema=table.schema().as_arrow()))
    assert damages(table, head_of(table), depth="ends") == []
    (line,) = snapshot_of(table).manifests(table.io)
    (summaries,) = line.partitions or ()
    set_line(
        line,
        "partitions",
        [PartitionFieldSummary(True, summaries.contains_nan, summaries.upper_bound, summaries.upper_bound)],
    )
    entries = list(live_entries(table.io, line))
    assert false_line(table, line, entries) == f"with a lower bound of {column} that leaves out a file"


@pytest.mark.parametrize("wrong", WRONG)
def test_a_rewrite_that_lists_a_manifest_otherwise(sql_lake: Lake, name: str, wrong: str, tmp_path: Path) -> None:
    rewritten = relisted(sql_lake, name, tmp_path, WRONG[wrong])
    (finding,) = audit_rewrites(sql_lake.load(name), in_process=ENOUGH).findings
    assert (finding.kind, f"snapshot {rewritten}" in finding.message) == ("rewrite_changed_rows", True)
    assert f"is listed with {wrong}" in finding.message.replace("listed 2 times", "listed with 2 times")


@pytest.mark.parametrize("wrong", WRONG)
def test_a_list_that_was_written_anew_in_its_place(sql_lake: Lake, name: str, wrong: str) -> None:
    table = sql_lake.load(name)
    assert damages(table, head_of(table), depth="ends") == []
    write_list(table, snapshot_of(table).manifest_list, WRONG[wrong])
    damage_list = damages(sql_lake.load(name), head_of(table), depth="ends")
    assert ("misdescribed_file", True) in {(damage.kind, damage.lost) for damage in damage_list}
    assert f"is listed with {wrong}" in damage_list[0].message.replace("listed 2 times", "listed with 2 times")


def test_rows_that_come_back_as_deletes_do_not_apply_to_their_manifest(
    sql_lake: Lake, name: str, tmp_path: Path
) -> None:
    assert sql_lake.rows(name) == [1, 2]
    relisted(sql_lake, name, tmp_path, of_data(lambda manifest: set_line(manifest, "sequence_number", 99)))
    assert sql_lake.rows(name) == [1, 2, 3]
    (finding,) = audit_rewrites(sql_lake.load(name), in_process=ENOUGH).findings
    assert (finding.kind, "another sequence number" in finding.message) == ("rewrite_changed_rows", True)


def misplaced(lake: Lake, name: str, folder: Path) -> None:
    relist(lake, name, folder, alter=lambda file: set_claim(file, "split_offsets", [file.file_size_in_bytes - 9]))


SEEN_BY_SPARK: dict[str, tuple[Callable[[Lake, str, Path], object], list[int]]] = {
    "as it is": (lambda *_: None, [1, 2]),
    "uncounted": (lambda *given: relisted(*given, WRONG["none of its files counted"]), []),
    "bound": (lambda *given: relisted(*given, WRONG["a lower bound of n"]), []),
    # PyIceberg reads it twice.
    "twice": (lambda *given: relisted(*given, WRONG["2 times"]), [1, 2]),
    "split": (misplaced, []),
}


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.spark
def test_spark_finds_other_rows_by_such_claims(sql_lake: Lake, spark_on: SparkOn, tmp_path: Path) -> None:
    rows_by_case: dict[str, list[int]] = {}
    with spark_on(sql_lake.settings) as spark:
        for case, (claim, _) in SEEN_BY_SPARK.items():
            name = sql_lake.create(case.replace(" ", "_"))
            with sql_lake.load(name).update_spec() as spec:
                spec.add_identity("n")
            sql_lake.write(case, **{name.partition(".")[2]: [1, 2]})
            claim(sql_lake, name, tmp_path)
            rows = spark.sql(f"SELECT n FROM lake.{name} WHERE n < 3 ORDER BY n").collect()
            rows_by_case[case] = [row.n for row in rows]
    assert rows_by_case == {case: seen for case, (_, seen) in SEEN_BY_SPARK.items()}


PARTS = ["x", "days(at)", "truncate(2, s)", "bucket(8, n)"]
OTHER_PARTS = ["amount", "b", "t", "day", "hours(at)", "months(day)"]


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("parts", [PARTS, pytest.param(OTHER_PARTS, marks=pytest.mark.soak)], ids=["few", "others"])
def test_what_spark_claims_is_true(sql_lake: Lake, spark_on: SparkOn, parts: list[str]) -> None:
    columns = "n BIGINT, x DOUBLE, amount DECIMAL(9,2), day DATE, at TIMESTAMP, s STRING, b BINARY, t BOOLEAN"
    row = "0D, CAST(-1.5 AS DECIMAL(9,2)), DATE'1960-01-01', TIMESTAMP'1960-05-05 10:00:00', 'ärger', X'F0', true"
    with spark_on(sql_lake.settings) as spark:
        for number, part in enumerate(parts):
            name = f"{sql_lake.namespace}.p{number}"
            spark.sql(f"CREATE TABLE lake.{name} ({columns}) USING iceberg PARTITIONED BY ({part})")
            spark.sql(
                f"INSERT INTO lake.{name} VALUES (1, {row}), (2, DOUBLE('NaN'), 2.5, DATE'2024-05-14', "
                "TIMESTAMP'2024-05-14 23:59:59', 'zzz', X'00', false), (null, null, null, null, null, null, null, null)"
            )
            table = sql_lake.load(name)
            assert damages(table, head_of(table), depth="ends") == [], part
