from lakehouse.iceberg.manifests.added_files import added_paths
from lakehouse.iceberg.manifests.entry_reader import manifests_in
from lakehouse_tests.fixtures.lakes import Lake


def test_files_that_others_have_added_are_left_out(sql_lake: Lake) -> None:
    """Also where one manifest lists both, as after it was merged."""
    properties = {"commit.manifest-merge.enabled": "true", "commit.manifest.min-count-to-merge": "2"}
    name = sql_lake.create("a", **properties)
    sql_lake.write("first", a=[1])
    before = {task.file.file_path for task in sql_lake.load(name).scan().plan_files()}
    sql_lake.write("second", a=[2])
    table = sql_lake.load(name)
    snapshot = table.current_snapshot()
    assert snapshot is not None
    manifests = manifests_in(table.io, snapshot.manifest_list)
    added = {s.snapshot_id for s in table.metadata.snapshots[2:]}
    new = {path for manifest in manifests for path in added_paths(table.io, manifest, added)}
    assert new == {task.file.file_path for task in table.scan().plan_files()} - before
    assert len(manifests) == len(new) == 1
