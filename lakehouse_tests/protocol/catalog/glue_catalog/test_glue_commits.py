"""Commits on Glue: races, lost answers, and a stop between two tables of one publish."""

import threading

import pytest
from pyarrow.fs import FileSelector
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException

from lakehouse.protocol.catalog import TableChange, open_catalog, ref_is, set_branch
from lakehouse.protocol.catalog.glue_catalog.glue_commits import PartlyCommitted
from lakehouse.protocol.commit import publish
from lakehouse.protocol.errors import Superseded
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse_tests.fixtures.glue_catalog import GlueServer
from lakehouse_tests.fixtures.lakes import Lake

pytestmark = pytest.mark.slow


def _documents(lake: Lake, name: str) -> set[str]:
    table = lake.load(name)
    folder = table.metadata_location.rpartition("/")[0].removeprefix("s3://")
    return {
        info.path
        for info in table.io.fs_by_scheme("s3", None).get_file_info(_selector(folder))
        if _is_document(info.path)
    }


def _selector(folder: str) -> FileSelector:
    return FileSelector(folder)


def _is_document(path: str) -> bool:
    return path.endswith(".metadata.json")


def test_of_two_writers_who_read_the_same_version_one_wins(glue_lake: Lake, glue_server: GlueServer) -> None:
    names = [glue_lake.create(name) for name in ("a", "b")]
    first, second = Attempt(run_id="r1", step="s"), Attempt(run_id="r2", step="s")
    bases = glue_lake.bases(*names)
    other = [glue_lake.stage(base, second, [2]) for base in bases.values()]
    own = [glue_lake.stage(base, first, [1]) for base in bases.values()]
    glue_server.updates.clear()
    glue_server.meanwhile["a"] = lambda: publish(open_catalog(glue_lake.settings), other)
    with pytest.raises(Superseded):
        publish(glue_lake.catalog, own)
    assert [glue_lake.rows(name) for name in names] == [[2], [2]]
    assert glue_server.updates == ["a", "b"]


def test_commits_that_do_not_conflict_all_land(glue_lake: Lake) -> None:
    name = glue_lake.create("a")
    errors: list[BaseException] = []

    def add(number: int) -> None:
        try:
            table = open_catalog(glue_lake.settings).load_table(tuple(name.split(".")))
            table.manage_snapshots().create_tag(table.metadata.current_snapshot_id, f"tag{number}").commit()
        except BaseException as error:  # noqa: BLE001 - shown below
            errors.append(error)

    glue_lake.write("first", a=[1])
    threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert {f"tag{number}" for number in range(4)} <= set(glue_lake.load(name).metadata.refs)


def test_a_lost_answer_is_no_lost_race(glue_lake: Lake, glue_server: GlueServer) -> None:
    """boto asks again by itself, and hears that another was quicker: that was us. The document must stay."""
    name = glue_lake.create("a")
    staged = glue_lake.stage(glue_lake.bases(name)[name], Attempt(run_id="r", step="s"), [1])
    glue_server.updates.clear()
    glue_server.lost.add("a")
    publish(glue_lake.catalog, [staged])
    assert glue_server.updates == ["a"]
    other = open_catalog(glue_lake.settings)  # whose memory does not have the document
    assert other.load_table(tuple(name.split("."))).scan().to_arrow()["n"].to_pylist() == [1]


def test_an_answer_that_nobody_asks_for_again_is_unknown(glue_lake: Lake, glue_server: GlueServer) -> None:
    name = glue_lake.create("a")
    glue_lake.write("first", a=[1])
    settings = glue_lake.settings.model_copy(update={"properties": {"glue.max-retries": "0"}})
    impatient = open_catalog(settings)
    table = glue_lake.load(name)
    glue_server.lost.update({"a"})
    change = TableChange(
        table.name(), (ref_is("b", None),), (set_branch("b", table.metadata.current_snapshot_id or 0),)
    )
    with pytest.raises(CommitStateUnknownException):
        impatient.commit_tables([change])
    impatient.glue.close()
    assert "b" in glue_lake.load(name).metadata.refs


def test_nothing_changes_where_a_requirement_does_not_hold_and_what_lost_leaves_no_document(
    glue_lake: Lake, glue_server: GlueServer
) -> None:
    names = [glue_lake.create(name) for name in ("a", "b")]
    glue_lake.write("first", a=[1], b=[1])
    tables = [glue_lake.load(name) for name in names]
    heads = [table.metadata.current_snapshot_id or 0 for table in tables]
    glue_server.updates.clear()
    changes = [
        TableChange(tables[0].name(), (), (set_branch("x", heads[0]),)),
        TableChange(tables[1].name(), (ref_is("main", 1),), (set_branch("x", heads[1]),)),
    ]
    with pytest.raises(CommitFailedException):
        glue_lake.catalog.commit_tables(changes)
    assert glue_server.updates == []
    before = _documents(glue_lake, names[1])

    def other() -> None:
        glue_lake.load(names[1]).manage_snapshots().create_branch(heads[1], "x").commit()

    glue_server.meanwhile["b"] = other
    with pytest.raises(PartlyCommitted, match=f"{names[0]} changed"):
        glue_lake.catalog.commit_tables(
            [changes[0], TableChange(tables[1].name(), (ref_is("x", None),), (set_branch("x", heads[1]),))]
        )
    assert glue_server.updates == ["a", "b"]
    assert len(_documents(glue_lake, names[1]) - before) == 1


def test_what_moves_main_comes_before_a_lease(glue_lake: Lake, glue_server: GlueServer) -> None:
    names = [glue_lake.create(name) for name in ("a", "b")]
    glue_lake.write("first", a=[1], b=[1])
    heads = [(glue_lake.load(name).name(), glue_lake.load(name).metadata.current_snapshot_id or 0) for name in names]
    glue_server.updates.clear()
    (a, head_a), (b, head_b) = heads
    glue_lake.catalog.commit_tables(
        [TableChange(a, (), (set_branch("lease", head_a),)), TableChange(b, (), (set_branch("main", head_b),))]
    )
    assert glue_server.updates == ["b", "a"]
