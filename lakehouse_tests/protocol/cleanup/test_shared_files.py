"""Two entries of a catalog that stand on the same files (`register_table`): neither deletes what the other needs."""

from dataclasses import replace
from datetime import timedelta

import pytest

from lakehouse.declarations import ORPHANS, Declarations, Expire, Maintenance, Orphans
from lakehouse.protocol.catalog import Entry
from lakehouse.protocol.cleanup.housekeeping import abandoned_branches, drop_branch
from lakehouse.protocol.cleanup.shared_files import FilesShared, require_sole, shared_among, shared_with
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.maintenance.expire.expire import expire
from lakehouse.steps.maintenance.model.action import Action, Operation
from lakehouse.steps.maintenance.orphans import removal
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.maintenance.house import work_on

SMALL = Expire(min_snapshots_to_keep=2, max_snapshots=2, at_least=1)
CLEANS = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "2"}


def copied(lake: Lake, name: str) -> str:
    """Register the document of a table a second time."""
    copy = f"{lake.namespace}.copy"
    lake.catalog.register_table(tuple(copy.split(".")), lake.load(name).metadata_location)
    return copy


def all_rows(lake: Lake, name: str) -> list[int]:
    """How many rows each snapshot of a table has; every file of it is read."""
    table = lake.load(name)
    return sorted(
        table.scan(snapshot_id=snapshot.snapshot_id).to_arrow().num_rows for snapshot in table.metadata.snapshots
    )


def test_expiry_takes_no_file_from_another_entry(lake: Lake) -> None:
    name = lake.create("a")
    for number in range(5):
        lake.write(f"s{number}", a=[number])
    copy = copied(lake, name)
    before = all_rows(lake, copy)
    declared = Declarations({name: replace(ORPHANS, name=name)}, {}, {})
    with pytest.raises(FilesShared, match=f"{name} shares the UUID .* with {copy}"):
        expire(lake.catalog, declared, name, SMALL)
    work = work_on(lake.catalog, declared, name, Maintenance(orphans=Orphans(delete=True)))
    with pytest.raises(FilesShared):
        removal.run(work, Action(operation=Operation.ORPHANS))
    assert all_rows(lake, copy) == before
    lake.catalog.drop_table(tuple(copy.split(".")))
    assert expire(lake.catalog, declared, name, SMALL).files == 0
    assert len(lake.load(name).metadata.snapshots) < len(before)


@pytest.mark.parametrize("committed", ["together", "alone"])
def test_old_metadata_of_another_entry_stay(sql_lake: Lake, committed: str) -> None:
    name = sql_lake.create("a", **CLEANS)  # pyright: ignore[reportArgumentType]
    sql_lake.write("first", a=[1])
    copy = copied(sql_lake, name)
    for number in range(5):
        if committed == "together":
            sql_lake.write(f"s{number}", a=[number])
        else:
            table = sql_lake.load(name)
            table.append(table.scan(row_filter="n = 1", limit=1).to_arrow())
    assert all_rows(sql_lake, copy)
    sql_lake.catalog.drop_table(tuple(copy.split(".")))
    oldest = sql_lake.load(name).metadata.metadata_log[0].metadata_file
    for number in range(3):
        sql_lake.write(f"later{number}", a=[number])
    with pytest.raises(FileNotFoundError):
        sql_lake.load(name).io.new_input(oldest).open()


def test_files_of_a_branch_that_another_entry_has_stay(sql_lake: Lake) -> None:
    name = sql_lake.create("a")
    sql_lake.write("first", a=[1])
    attempt = Attempt(run_id="dead", step="s")
    sql_lake.stage(sql_lake.bases(name)[name], attempt, [2])
    copy = copied(sql_lake, name)
    [left] = abandoned_branches(sql_lake.load(name), older_than=timedelta(0))
    assert drop_branch(sql_lake.catalog, left) == 0
    assert not abandoned_branches(sql_lake.load(name), older_than=timedelta(0))
    assert all_rows(sql_lake, copy)[-1] == 2


def test_what_is_shared(sql_lake: Lake) -> None:
    name = sql_lake.create("a")
    sql_lake.write("first", a=[1])
    table = sql_lake.load(name)
    older = table.metadata.metadata_log[0].metadata_file
    elsewhere = Entry(("b", "c"), "file:///elsewhere/metadata/1.json", "other", "file:///elsewhere", frozenset())
    (own,) = (entry for entry in sql_lake.catalog.entries() if entry.identifier == table.name())
    beside = table.location().replace("file://", "file:") + "/metadata/7.json"
    cases = {
        replace(elsewhere, uuid=str(table.metadata.table_uuid)): "the UUID",
        replace(elsewhere, location=table.location().replace("file://", "") + "/"): "the location",
        replace(elsewhere, versions=frozenset({older})): "metadata",
        replace(elsewhere, uuid="", location="", metadata_location=beside, unreadable="OSError"): "the location",
        replace(elsewhere, uuid="", location="", unreadable="OSError"): "",
        replace(elsewhere, uuid="", location="", metadata_location="", unreadable="403"): "",
        replace(elsewhere, identifier=table.name(), uuid=str(table.metadata.table_uuid)): "",
        elsewhere: "",
    }
    for entry, shared in cases.items():
        message = shared_with([entry], table)
        assert message.startswith(shared) if shared else not message
        both = shared_among([own, entry])
        assert set(both) == ({table.name(), entry.identifier} if shared else set())
        assert all(words[0].startswith(shared) for words in both.values())
    require_sole(sql_lake.catalog, table)


def test_an_entry_of_another_catalog_of_the_same_database_counts(sql_lake: Lake) -> None:
    from lakehouse.protocol.catalog import open_catalog

    name = sql_lake.create("a")
    other = open_catalog(sql_lake.settings.model_copy(update={"name": "other"}))
    other.create_namespace("n")
    other.register_table(("n", "copy"), sql_lake.load(name).metadata_location)
    with pytest.raises(FilesShared, match=r"with other:\.n\.copy"):
        require_sole(sql_lake.catalog, sql_lake.load(name))
