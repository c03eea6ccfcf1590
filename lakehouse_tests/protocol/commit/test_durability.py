"""A publish looks whether what it will point at is there, and has it put on the disk."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlparse

import pytest

from lakehouse.iceberg.manifests.entry_reader import manifests_in
from lakehouse.protocol.commit import Staged, publish
from lakehouse.protocol.errors import StagedFilesLost
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse_tests.fixtures.lakes import Lake

Chosen = Callable[[Lake, Staged], str]


def manifest_list(lake: Lake, staged: Staged) -> str:
    """Of the head."""
    snapshot = lake.load(staged.base.name).metadata.snapshot_by_id(staged.head)
    assert snapshot is not None
    return snapshot.manifest_list


def newest_manifest(lake: Lake, staged: Staged) -> str:
    """Of the rows that the attempt has staged."""
    listed = manifests_in(lake.load(staged.base.name).io, manifest_list(lake, staged))
    return max(listed, key=lambda manifest: manifest.sequence_number or 0).manifest_path


def data_file(lake: Lake, staged: Staged) -> str:
    """Of the attempt; on a disk here it is looked at as well."""
    (task,) = lake.load(staged.base.name).scan(snapshot_id=staged.head).plan_files()
    return task.file.file_path


def staged_rows(lake: Lake) -> Staged:
    name = lake.create("a")
    lake.write("first", a=[1])
    return lake.stage(lake.bases(name)[name], Attempt(run_id="r", step="s"), [2])


def test_a_manifest_list_that_is_gone_is_not_published(sql_lake: Lake) -> None:
    refused(sql_lake, staged_rows(sql_lake), manifest_list)


def test_a_manifest_that_is_gone_is_not_published(sql_lake: Lake) -> None:
    refused(sql_lake, staged_rows(sql_lake), newest_manifest)


@pytest.mark.rest
def test_a_catalog_server_is_not_asked_either(rest_lake: Lake) -> None:
    refused(rest_lake, staged_rows(rest_lake), newest_manifest)


def test_files_in_an_object_store_are_looked_at_too(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nothing to be synced; manifests are asked for by their names."""
    monkeypatch.setattr("lakehouse.protocol.commit.durability.local_path", lambda _: None)
    staged = staged_rows(sql_lake)
    refused(sql_lake, staged, newest_manifest)


def refused(lake: Lake, staged: Staged, chosen: Chosen) -> None:
    """A storage rule, or somebody's orphan removal, took a file between stage and publish."""
    path = Path(urlparse(chosen(lake, staged)).path)
    away = path.rename(path.with_suffix(".away"))
    with pytest.raises(StagedFilesLost, match=rf"{lake.namespace}\.a: {path.name}, .* is gone; .*run the step again"):
        publish(lake.catalog, [staged])
    assert lake.rows(f"{lake.namespace}.a") == [1]
    away.rename(path)
    publish(lake.catalog, [staged])
    assert lake.rows(f"{lake.namespace}.a") == [1, 2]


def test_a_torn_manifest_is_not_published(sql_lake: Lake) -> None:
    staged = staged_rows(sql_lake)
    torn = newest_manifest(sql_lake, staged)
    path = Path(urlparse(torn).path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(StagedFilesLost, match=rf"{path.name}, .* cannot be read"):
        publish(sql_lake.catalog, [staged])
    assert sql_lake.rows(f"{sql_lake.namespace}.a") == [1]


def test_a_data_file_on_this_disk_is_looked_at_too(sql_lake: Lake) -> None:
    name = sql_lake.create("a")
    staged = sql_lake.stage(sql_lake.bases(name)[name], Attempt(run_id="r", step="s"), [1])
    gone = data_file(sql_lake, staged)
    Path(urlparse(gone).path).unlink()
    with pytest.raises(StagedFilesLost, match=gone.rpartition("/")[2]):
        publish(sql_lake.catalog, [staged])
    assert sql_lake.rows(name) == []


def test_a_file_of_an_earlier_publish_is_not_looked_at(sql_lake: Lake) -> None:
    """What main lacks already, no step is refused for: `lakehouse audit` says it."""
    staged = staged_rows(sql_lake)
    earlier = sql_lake.load(f"{sql_lake.namespace}.a").current_snapshot()
    assert earlier is not None
    Path(urlparse(earlier.manifest_list).path).unlink()
    publish(sql_lake.catalog, [staged])
    assert sql_lake.rows(f"{sql_lake.namespace}.a") == [1, 2]
