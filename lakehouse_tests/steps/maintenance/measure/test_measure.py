"""What is measured of real tables, and how little is read for it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyspark.sql.types as spark
import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import IdentityTransform

from lakehouse.declarations import Column, Declarations, Maintenance, Manifests, Rewrite, Table
from lakehouse.iceberg.manifests.manifest_files import ManifestCache
from lakehouse.protocol.commit import publish, stage_replacement
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.history import head_of
from lakehouse.steps.maintenance.log.history import History
from lakehouse.steps.maintenance.measure.measure import measure
from lakehouse.steps.maintenance.model.state import Depth, MeasuredState, Remembered
from lakehouse.steps.maintenance.plan.budget import Budget
from lakehouse.steps.maintenance.survey import TableSurvey
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.protocol.commit.rewrites import append, create, delete_rows, entries, replace_file, rewrite

pytestmark = pytest.mark.slow

NOTHING_DECLARED = Declarations({}, {}, {})
KIB = 1024
# Files of these tables have about 1.6 kB: large for the first policy, too small for the second.
LARGE = Maintenance(rewrite=Rewrite(target_file_size=KIB, max_file_size_ratio=10))
SMALL = Maintenance(rewrite=Rewrite(target_file_size=64 * KIB))


def declared(name: str, policy: Maintenance, *, secret: str = "") -> Table:
    """The declaration of a table of the fixtures."""
    types = {"n": spark.LongType(), "s": spark.StringType(), "day": spark.IntegerType()}
    columns = tuple(
        Column(column_name, kind, required=False, sensitive=column_name == secret)
        for column_name, kind in types.items()
    )
    return Table(name=name, schema=columns, description="Things.", owner="tests", maintenance=policy)


def measured(lake: Lake, name: str, policy: Maintenance, **more: Any) -> MeasuredState:
    """The state of a table, whose files were counted a minute ago."""
    secret = more.pop("secret", "")
    now = more.pop("now", datetime.now(UTC))
    more = {"remembered": Remembered(counted_at=now - timedelta(minutes=1)), **more}
    return measure(lake.load(name), declared(name, policy, secret=secret), NOTHING_DECLARED, now=now, **more)


def many(lake: Lake, name: str, appends: int, days: int = 2) -> None:
    """So many appends, each of one row for each day."""
    for number in range(appends):
        append(lake, name, {100 * number + day: day for day in range(days)})


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which files were read, by the last part of their path."""
    names: list[str] = []
    original = PyArrowFileIO.new_input

    class Watched:
        def __init__(self, io: PyArrowFileIO, location: str) -> None:
            self._file, self.location = original(io, location), location

        def open(self, *, seekable: bool = True) -> Any:
            names.append(self.location.rpartition("/")[2])
            return self._file.open(seekable=seekable)

        def __len__(self) -> int:
            return len(self._file)

    def watched(io: PyArrowFileIO, location: str) -> Watched:  # a class would not be given the io as self
        return Watched(io, location)

    monkeypatch.setattr(PyArrowFileIO, "new_input", watched)
    return names


def test_totals_are_those_of_the_table(sql_lake: Lake) -> None:
    name = create(sql_lake)
    many(sql_lake, name, 3)
    table = sql_lake.load(name)
    state = measured(sql_lake, name, LARGE)
    files = [entry.data_file for entry in entries(table).values()]
    assert (state.totals.files, state.totals.bytes) == (6, sum(file.file_size_in_bytes for file in files))
    assert (state.totals.records, state.totals.delete_files) == (6, 0)
    assert state.totals.snapshots == len(state.history) == len(table.metadata.snapshots)
    assert state.totals.document_bytes > 1000
    assert state.snapshot_id == head_of(table)
    assert table.metadata_location.endswith(state.document)
    assert MeasuredState.from_json(state.to_json()) == state


def test_a_table_without_rows_has_a_state(sql_lake: Lake) -> None:
    state = measured(sql_lake, create(sql_lake), SMALL, depth=Depth.FILES)
    assert state.snapshot_id is None
    assert state.partitions is None


def test_when_a_table_was_made_is_known_until_its_metadata_have_forgotten_it(sql_lake: Lake) -> None:
    name = create(sql_lake)
    made = measured(sql_lake, name, SMALL)
    assert made.created_at == made.updated_at
    many(sql_lake, name, 3)
    assert measured(sql_lake, name, SMALL).created_at == made.created_at
    with sql_lake.load(name).transaction() as change:
        change.set_properties({"write.metadata.previous-versions-max": "1"})
    assert measured(sql_lake, name, SMALL).created_at is None


def test_a_healthy_table_is_read_no_deeper_than_its_document(sql_lake: Lake, opened: list[str]) -> None:
    name = create(sql_lake)
    many(sql_lake, name, 6)
    table = sql_lake.load(name)
    opened.clear()
    now = datetime.now(UTC)
    known = Remembered(counted_at=now - timedelta(hours=23))
    state = measure(table, declared(name, LARGE), NOTHING_DECLARED, now=now, remembered=known)
    assert (state.depth, state.partitions, state.totals.manifests) == (Depth.TOTALS, None, None)
    assert opened == []


def test_files_that_are_too_small_are_a_reason_to_read_the_manifests(sql_lake: Lake, opened: list[str]) -> None:
    name = create(sql_lake)
    many(sql_lake, name, 3)
    table = sql_lake.load(name)
    opened.clear()
    state = measure(table, declared(name, SMALL), NOTHING_DECLARED, now=datetime.now(UTC))
    assert state.depth is Depth.PARTITIONS
    assert "files are too small" in state.deeper_because
    assert all(file.endswith(".avro") for file in opened)
    assert state.partitions is not None
    assert [partition.partition.name for partition in state.partitions] == ["day=0", "day=1"]
    for partition in state.partitions:
        assert (partition.files, partition.records, partition.undersized, partition.fragments, partition.formats) == (
            3,
            3,
            3,
            3,
            {"PARQUET": 3},
        )
    assert sum(partition.bytes for partition in state.partitions) == state.totals.bytes


def test_small_files_of_late_are_found_in_a_table_of_large_ones(sql_lake: Lake) -> None:
    name = create(sql_lake)
    append(sql_lake, name, dict.fromkeys(range(60_000), 0))
    many(sql_lake, name, 6, days=1)
    large = Maintenance(rewrite=Rewrite(target_file_size=40 * KIB, max_file_size_ratio=1000))
    state = measured(sql_lake, name, large)
    assert state.totals.bytes / state.totals.files > 30 * KIB
    assert "the newest files are too small" in state.deeper_because
    assert state.partitions is not None
    assert state.partitions[0].undersized == 6


def test_small_files_of_long_ago_are_found_once_a_day(sql_lake: Lake) -> None:
    name = create(sql_lake)
    many(sql_lake, name, 6, days=1)
    for number in range(21):
        append(sql_lake, name, dict.fromkeys(range(1000 * number, 1000 * number + 1000), 1))
    policy = Maintenance(rewrite=Rewrite(target_file_size=4 * KIB, max_file_size_ratio=1000))
    now = datetime.now(UTC)
    assert measured(sql_lake, name, policy).depth is Depth.TOTALS, "neither the average nor what came of late tells"
    for counted_at in (None, now - timedelta(hours=25)):
        state = measured(sql_lake, name, policy, now=now, remembered=Remembered(counted_at=counted_at))
        assert state.deeper_because == "the files of each partition were not counted for a day"
        assert state.partitions is not None
        assert [partition.undersized for partition in state.partitions] == [6, 0]


def test_the_list_of_manifests_is_read_where_there_could_be_too_many(sql_lake: Lake, opened: list[str]) -> None:
    name = create(sql_lake)
    many(sql_lake, name, 4, days=1)
    table = sql_lake.load(name)
    policy = replace(LARGE, manifests=Manifests(min_count=4))
    opened.clear()
    state = measure(table, declared(name, policy), NOTHING_DECLARED, now=datetime.now(UTC))
    assert (state.totals.manifests, state.depth) == (4, Depth.TOTALS)
    assert len(opened) == 1
    assert opened[0].startswith("snap-")


def test_each_manifest_is_read_once_by_a_process(sql_lake: Lake, opened: list[str]) -> None:
    name, cache = create(sql_lake), ManifestCache()
    many(sql_lake, name, 3)
    measured(sql_lake, name, SMALL, cache=cache)
    many(sql_lake, name, 1)
    table = sql_lake.load(name)
    opened.clear()
    again = measure(table, declared(name, SMALL), NOTHING_DECLARED, now=datetime.now(UTC), cache=cache)
    assert sorted(file[:5] == "snap-" for file in opened) == [False, True]
    assert again.partitions == measured(sql_lake, name, SMALL, now=again.measured_at).partitions
    few = ManifestCache(most_files=3)
    assert measured(sql_lake, name, SMALL, cache=few, now=again.measured_at).partitions == again.partitions


def test_a_summary_without_totals_is_no_empty_table(sql_lake: Lake) -> None:
    name = create(sql_lake)
    many(sql_lake, name, 2)
    table = sql_lake.load(name)
    head = table.metadata.snapshot_by_id(head_of(table) or 0)
    assert head is not None
    assert head.summary is not None
    for key in [key for key in head.summary.additional_properties if key.startswith("total-")]:
        del head.summary._additional_properties[key]
    state = measure(table, declared(name, LARGE), NOTHING_DECLARED, now=datetime.now(UTC))
    assert (state.totals.files, state.totals.records) == (4, 4)
    assert state.totals.bytes > 0


def test_delete_files_are_counted_with_the_files_that_they_touch(sql_lake: Lake) -> None:
    name = create(sql_lake)
    many(sql_lake, name, 3)
    files = [entry.data_file for entry in entries(sql_lake.load(name)).values()]
    day_0 = [file for file in files if file.partition[0] == 0]
    publish(sql_lake.catalog, [delete_rows(sql_lake, name, day_0[:1], only=True)])
    state = measured(sql_lake, name, LARGE)
    assert (state.depth, state.deeper_because) == (Depth.FILES, "there are 1 delete files")
    assert state.partitions is not None
    touched, other = state.partitions
    assert (touched.delete_files, touched.position_deletes, touched.touched) == (1, 1, 1)
    assert touched.touched_bytes == day_0[0].file_size_in_bytes
    assert (other.delete_files, other.touched) == (0, 0)
    publish(
        sql_lake.catalog, [delete_rows(sql_lake, name, day_0[:2])]
    )  # for whichever of the partition, by Spark's word
    append(sql_lake, name, {1000: 0})  # newer than the deletes, which cannot be for it
    state = measured(sql_lake, name, LARGE)
    assert state.partitions is not None
    assert (state.partitions[0].delete_files, state.partitions[0].touched, state.partitions[0].files) == (2, 3, 4)


def test_equality_deletes_are_told_apart(sql_lake: Lake) -> None:
    name = create(sql_lake)
    many(sql_lake, name, 1)
    file = next(iter(entries(sql_lake.load(name)).values())).data_file
    publish(sql_lake.catalog, [delete_rows(sql_lake, name, [file], equality=0)])
    state = measured(sql_lake, name, SMALL)
    assert state.partitions is not None
    assert [partition.equality_deletes for partition in state.partitions] == [1, 0]
    assert state.partitions[0].touched == 1


def test_who_changed_which_partition_and_how_often_is_read_from_the_history(sql_lake: Lake) -> None:
    name = create(sql_lake)
    many(sql_lake, name, 2)
    file = next(e.data_file for e in entries(sql_lake.load(name)).values() if e.data_file.partition[0] == 1)
    publish(sql_lake.catalog, [replace_file(sql_lake, name, file, {})])
    changed = datetime.now(UTC)
    append(sql_lake, name, {7: 0})
    state = measured(sql_lake, name, SMALL, now=changed + timedelta(hours=1), depth=Depth.PARTITIONS)
    assert state.partitions is not None
    first, second = state.partitions
    assert first.last_change is not None
    assert second.last_change is not None
    assert first.last_change > second.last_change
    assert round(first.changes_per_hour) == 3
    [removed] = [snapshot.timestamp for snapshot in state.main if snapshot.operation in ("overwrite", "delete")]
    assert second.last_change == removed, "it counts, though no file is left of it"
    assert state.cadence.appends_since_rewrite == 3
    assert state.cadence.commit_ms is not None
    assert state.cadence.append_partitions is not None


def test_maintenance_is_no_change_of_a_partition(sql_lake: Lake) -> None:
    name = create(sql_lake)
    many(sql_lake, name, 2)
    replacement, base = rewrite(sql_lake.load(name), 0), sql_lake.bases(name)[name]
    upkeep = Attempt(run_id="run", step="maintain:a")
    publish(sql_lake.catalog, [stage_replacement(sql_lake.catalog, base, upkeep, replacement)])
    state = measured(sql_lake, name, SMALL, depth=Depth.PARTITIONS)
    assert state.partitions is not None
    assert [(partition.files, partition.last_change is None) for partition in state.partitions] == [
        (1, True),
        (2, False),
    ]
    assert [partition.rewritten for partition in state.partitions] == [state.main[-2].timestamp, None], (
        "but it hides what was one"
    )
    assert state.cadence.appends_since_rewrite == 0


def test_a_partition_of_a_sensitive_column_is_told_without_its_value(sql_lake: Lake) -> None:
    by_text = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "s"), spec_id=0)
    name = create(sql_lake, spec=by_text)
    append(sql_lake, name, {1234567: 0, 7654321: 0})
    state = measured(sql_lake, name, SMALL, depth=Depth.FILES, secret="s")
    assert state.partitions is not None
    assert [partition.partition.name for partition in state.partitions] == ["s=***", "s=***"]
    assert len({partition.partition.key for partition in state.partitions}) == 2
    assert b"1234567" not in state.to_json()
    open_ = measured(sql_lake, name, SMALL, depth=Depth.FILES)
    assert open_.partitions is not None
    assert [partition.partition.name for partition in open_.partitions] == ["s=1234567", "s=7654321"]


def test_a_column_that_nobody_declared_counts_as_sensitive(sql_lake: Lake) -> None:
    name = create(sql_lake)
    many(sql_lake, name, 1)
    nobody = Table(
        name=name,
        schema=(Column("n", spark.LongType(), required=False),),
        description="x",
        owner="x",
        maintenance=SMALL,
    )
    now = datetime.now(UTC)
    state = measure(sql_lake.load(name), nobody, NOTHING_DECLARED, now=now, depth=Depth.PARTITIONS)
    assert state.partitions is not None
    assert {partition.partition.name for partition in state.partitions} == {"day=***"}


def test_a_table_that_pyiceberg_cannot_load_is_a_state_with_a_reason(
    sql_lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = create(sql_lake)
    many(sql_lake, name, 1)
    table = sql_lake.load(name)
    path = table.metadata_location.removeprefix("file://")
    with open(path) as stream:  # noqa: PTH123 - what another engine may have written
        document = stream.read()
    with open(path, "w") as stream:  # noqa: PTH123
        stream.write(document.replace('"type":"long"', '"type":"variant"'))
    survey = TableSurvey(
        catalog=sql_lake.catalog,
        declarations=NOTHING_DECLARED,
        memory=History(),
        budget=Budget(),
        now=datetime.now(UTC),
    )
    surveyed = survey.look(declared(name, SMALL))
    assert surveyed is not None
    assert "PyIceberg cannot load it" in surveyed.state.unreadable
    assert surveyed.plan.nothing
    assert surveyed.state.document == path.rpartition("/")[2]
    assert survey.look(declared("raw.nothing", SMALL)) is None


def test_branches_tags_and_their_attempts_are_told(sql_lake: Lake) -> None:
    name = create(sql_lake)
    many(sql_lake, name, 1)
    base, attempt = sql_lake.bases(name)[name], Attempt(run_id="run", step="write")
    sql_lake.stage(base, attempt, [])
    table = sql_lake.load(name)
    table.manage_snapshots().create_tag(head_of(table) or 0, "release-1").commit()
    state = measured(sql_lake, name, LARGE)
    assert [(ref.kind, ref.name) for ref in state.refs] == [("branch", attempt.branch), ("tag", "release-1")]
    assert state.refs[0].begun is not None
    assert abs(state.refs[0].begun - state.measured_at) < timedelta(minutes=1)
    assert [snapshot.on_main for snapshot in state.history] == [True, True, True, False]
