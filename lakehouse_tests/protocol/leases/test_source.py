"""What was read of a table that was set back meanwhile is not published.

Guarded mechanism: a condition of the publish of whoever reads a table in ranges.
"""

from functools import partial

import pytest

from lakehouse.protocol.catalog import TableChange, ref_is, remove_snapshots, set_branch, set_tag
from lakehouse.protocol.commit import Staged, publish
from lakehouse.protocol.leases.source import SourceSetBack, still_in_main
from lakehouse.protocol.seals.history import MAIN, ancestry, head_of, last_seal
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.protocol.commit.test_publish import attempt


class Reader:
    """One that has read a source, and staged what it made of it."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self.source, self.name = lake.create("source"), lake.create("reader")
        lake.write("first", source=[1])
        self.former = self.head
        lake.write("second", source=[2])
        self.read, table = self.head, lake.load(self.source)
        self.condition = partial(still_in_main, lake.catalog, table.name(), str(table.metadata.table_uuid), self.read)
        self.staged: Staged = lake.stage(lake.bases(self.name)[self.name], attempt(), [12])

    @property
    def head(self) -> int:
        head = head_of(self.lake.load(self.source))
        assert head is not None
        return head

    def set_back(self) -> None:
        identifier = self.lake.load(self.source).name()
        change = TableChange(identifier, (ref_is(MAIN, self.head),), (set_branch(MAIN, self.former),))
        self.lake.catalog.commit_tables([change])

    def publish(self) -> None:
        publish(self.lake.catalog, [self.staged], conditions=[self.condition])

    @property
    def published(self) -> bool:
        return last_seal(self.lake.load(self.name)) is not None


@pytest.fixture
def reader(lake: Lake) -> Reader:
    return Reader(lake)


@pytest.fixture
def sql_reader(sql_lake: Lake) -> Reader:
    return Reader(sql_lake)


def test_what_was_taken_back_meanwhile_is_not_published(reader: Reader) -> None:
    reader.set_back()
    with pytest.raises(SourceSetBack, match=rf"{reader.source} was set back to before snapshot {reader.read}"):
        reader.publish()
    assert not reader.published


def test_what_is_taken_back_at_the_last_moment_is_not_published(
    sql_reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the condition was asked, and before the transaction."""
    reader, commit, asked = sql_reader, sql_reader.lake.catalog.commit_tables, list[None]()

    def after_a_rollback(changes: list[TableChange]) -> None:
        if not asked:
            asked.append(None)
            reader.set_back()
        commit(changes)

    monkeypatch.setattr(reader.lake.catalog, "commit_tables", after_a_rollback)
    with pytest.raises(SourceSetBack):
        reader.publish()
    assert not reader.published


def test_a_source_that_goes_on_is_no_reason(sql_reader: Reader) -> None:
    sql_reader.lake.write("third", source=[3])
    sql_reader.publish()
    assert sql_reader.published


def test_a_source_that_has_forgotten_the_snapshot_is_none_either(sql_reader: Reader) -> None:
    """It expired in `main`. What is not listed because it was set back and expired then, is not in a whole `main`."""
    lake = sql_reader.lake
    lake.write("third", source=[3])
    table = lake.load(sql_reader.source)
    older = [s.snapshot_id for s in table.metadata.snapshots if s.snapshot_id != head_of(table)]
    lake.catalog.commit_tables([TableChange(table.name(), (), (remove_snapshots(older),))])
    sql_reader.publish()
    assert sql_reader.published


def test_what_was_set_back_and_has_expired_is_not_published(sql_reader: Reader) -> None:
    sql_reader.set_back()
    table = sql_reader.lake.load(sql_reader.source)
    line = {snapshot.snapshot_id for snapshot in ancestry(table, head_of(table))}
    later = [s.snapshot_id for s in table.metadata.snapshots if s.snapshot_id not in line]
    assert sql_reader.read in later
    sql_reader.lake.catalog.commit_tables([TableChange(table.name(), (), (remove_snapshots(later),))])
    with pytest.raises(SourceSetBack):
        sql_reader.publish()


def test_another_table_of_the_name_or_none_is_for_the_next_run(sql_reader: Reader) -> None:
    lake = sql_reader.lake
    lake.catalog.drop_table(sql_reader.source)
    assert sql_reader.condition() is None
    lake.create("source")
    assert sql_reader.condition() is None
    sql_reader.publish()
    assert sql_reader.published


def test_it_meets_a_lease_on_the_same_table_in_one_change(sql_reader: Reader) -> None:
    change = sql_reader.condition()
    assert change is not None
    tag = TableChange(change.identifier, (), (set_tag("more", sql_reader.read),))
    publish(sql_reader.lake.catalog, [sql_reader.staged], conditions=[sql_reader.condition, lambda: tag])
    assert "more" in sql_reader.lake.load(sql_reader.source).metadata.refs
