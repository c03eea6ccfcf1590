"""Manifests regrouped by partition: fewer of them, each of few partitions, and nothing else is another.

Guarded mechanisms: regrouping by partition and size, the read-back, the rebase onto what was appended meanwhile.
"""

from copy import copy
from datetime import UTC, datetime
from typing import Any

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
import pytest
from pyiceberg.manifest import ManifestEntry

from lakehouse.declarations import Declarations, Maintenance, Manifests, Table
from lakehouse.iceberg.entries import EntryWriter, live_entries, partition_of
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.history import ancestry, head_of, is_rewrite, summary_of
from lakehouse.steps.maintenance.model.action import Action, MaintenanceWork, Operation
from lakehouse.steps.maintenance.model.state import MeasuredState
from lakehouse.steps.maintenance.rewrite import manifests
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.protocol.commit.rewrites import append, create, entries

pytestmark = pytest.mark.slow

ACTION = Action(operation=Operation.MANIFESTS)


def no_session() -> Any:
    raise AssertionError("no Spark for this")


def work_on(lake: Lake, name: str, **policy: Any) -> MaintenanceWork:
    base = lake.bases(name)[name]
    columns = {"n": T.LongType(), "s": T.StringType(), "day": T.IntegerType()}
    schema = pandera.DataFrameSchema({n: pandera.Column(t, nullable=True) for n, t in columns.items()})
    return MaintenanceWork(
        catalog=lake.catalog,
        declarations=Declarations(tables={}, streams={}, files={}),
        declared=Table(name=name, schema=schema, description="Of a test.", owner="tests"),
        base=base,
        state=MeasuredState(table=name, uuid=base.uuid, snapshot_id=base.snapshot_id, measured_at=datetime.now(UTC)),
        policy=Maintenance(manifests=Manifests(**policy)),
        attempt=Attempt(run_id="upkeep", step=f"maintain:{name}"),
        session=no_session,
        inform=print,
    )


def listed(lake: Lake, name: str) -> list[list[ManifestEntry]]:
    table = lake.load(name)
    snapshot = table.metadata.snapshot_by_id(head_of(table) or 0)
    assert snapshot
    return [list(live_entries(table.io, manifest)) for manifest in snapshot.manifests(table.io)]


def entry_fields(entry: ManifestEntry) -> tuple[Any, ...]:
    numbers = (entry.snapshot_id, entry.sequence_number, entry.file_sequence_number)
    file = entry.data_file
    return (
        file.file_path,
        *numbers,
        partition_of(file),
        file.record_count,
        str(file.lower_bounds),
        str(file.upper_bounds),
    )


def filled(lake: Lake, commits: int = 12) -> str:
    name = create(lake)
    for n in range(commits):
        append(lake, name, {n: n % 3, 100 + n: (n + 1) % 3})
    return name


@pytest.mark.parametrize("target_size", [8 * 1024**2, 6_000])
def test_fewer_manifests_of_few_partitions(sql_lake: Lake, target_size: int) -> None:
    name = filled(sql_lake)
    before, rows = entries(sql_lake.load(name)), sql_lake.rows(name)
    outcome = manifests.run(work_on(sql_lake, name, target_size=target_size), ACTION)
    assert outcome.result == "done", outcome.message
    assert outcome.before.files == 12
    assert outcome.after
    groups = listed(sql_lake, name)
    assert outcome.after.files == len(groups) < 12
    assert {entry_fields(e) for group in groups for e in group} == {entry_fields(e) for e in before.values()}
    assert sql_lake.rows(name) == rows
    if target_size < 8 * 1024**2:
        # In the order of partitions: each but the last reaches into the next one at most.
        days = [partition_of(e.data_file)[1][0] for group in groups for e in group]
        assert len(groups) > 1
        assert days == sorted(days, key=str)
    table = sql_lake.load(name)
    (rewrite,) = [s for s in ancestry(table, head_of(table)) if is_rewrite(s)]
    assert summary_of(rewrite)["lakehouse.maintenance.operation"] == "rewrite_manifests"
    assert set(table.metadata.refs) == {"main"}
    again = manifests.run(work_on(sql_lake, name, target_size=target_size), ACTION)
    assert again.after
    assert again.after.files == outcome.after.files


def test_on_top_of_what_came_meanwhile(sql_lake: Lake) -> None:
    name = filled(sql_lake)
    work = work_on(sql_lake, name)
    append(sql_lake, name, {50: 1})
    outcome = manifests.run(work, ACTION)
    assert (outcome.result, outcome.effect.rebases) == ("done", 1)
    assert len(listed(sql_lake, name)) == 2
    assert 50 in sql_lake.rows(name)


def test_an_entry_that_has_another_number_is_noticed(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    name = filled(sql_lake)
    real, calls = EntryWriter.add_entry, iter(range(1000))

    def older(self: EntryWriter, entry: ManifestEntry) -> Any:
        if next(calls) == 3:
            entry = copy(entry)
            entry._data = [*entry._data[:2], 999, *entry._data[3:]]
        return real(self, entry)

    head = head_of(sql_lake.load(name))
    monkeypatch.setattr(EntryWriter, "add_entry", older)
    work = work_on(sql_lake, name)
    outcome = manifests.run(work, ACTION)
    assert outcome.result == "proof_failed"
    assert head_of(sql_lake.load(name)) == head
