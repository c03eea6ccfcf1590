"""A publish that stopped between two tables: the next run completes it, and each row is there once."""

import os
import subprocess
import sys

import pytest
from pyiceberg.table.update import AssertTableUUID

from lakehouse.protocol.catalog import TableChange, open_catalog, remove_snapshots
from lakehouse.protocol.commit import publish
from lakehouse.protocol.completion.completion import complete_publish
from lakehouse.protocol.errors import HalfPublished
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.history import ancestry
from lakehouse_tests.fixtures.glue_catalog import GlueServer
from lakehouse_tests.fixtures.lakes import Lake

pytestmark = pytest.mark.slow

_CHILD = """
import sys
from pyiceberg.table.update import AssertTableUUID

from lakehouse.protocol.catalog import TableChange, open_catalog, remove_snapshots
from lakehouse.settings import CatalogSettings
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse_tests.fixtures.lakes import Lake

settings = CatalogSettings.model_validate_json(sys.argv[1])
Lake(settings, open_catalog(settings), sys.argv[2], None).write("second", a=[2], b=[2])
"""


def _stopped_half_way(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Two tables, of which one has the rows of a second attempt."""
    a, b = lake.create("a"), lake.create("b")
    lake.write("second", a=[1], b=[1])
    bases = lake.bases(a, b)
    attempt = Attempt(run_id="r", step="second")
    staged = [lake.stage(base, attempt, [2]) for base in bases.values()]
    monkeypatch.setenv("LAKEHOUSE_FAILPOINTS", "glue.between=fail")
    with pytest.raises(RuntimeError, match=r"glue\.between"):
        publish(lake.catalog, staged)
    monkeypatch.delenv("LAKEHOUSE_FAILPOINTS")
    assert [lake.rows(name) for name in (a, b)] == [[1, 2], [1]]
    return a, b


def test_a_kill_between_two_tables_is_completed_once(glue_lake: Lake) -> None:
    a, b = glue_lake.create("a"), glue_lake.create("b")
    glue_lake.write("second", a=[1], b=[1])
    child = subprocess.run(
        [sys.executable, "-c", _CHILD, glue_lake.settings.model_dump_json(), glue_lake.namespace],
        env={**os.environ, "LAKEHOUSE_FAILPOINTS": "glue.between=kill"},
        check=False,
        timeout=120,
    )
    assert child.returncode == -9
    assert [glue_lake.rows(name) for name in (a, b)] == [[1, 2], [1]]
    assert complete_publish(glue_lake.catalog, [a, b]) == [b]
    assert complete_publish(glue_lake.catalog, [a, b]) == []
    assert [glue_lake.rows(name) for name in (a, b)] == [[1, 2], [1, 2]]
    seals = [base.sealed.seal.attempt for base in glue_lake.bases(a, b).values() if base.sealed]
    assert len(seals) == 2
    assert len(set(seals)) == 1


def test_what_an_operator_took_back_stays_so(glue_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = glue_lake.create("a"), glue_lake.create("b")
    glue_lake.write("first", a=[1], b=[1])
    before = glue_lake.load(b).metadata.current_snapshot_id or 0
    glue_lake.write("first", a=[2], b=[2])
    glue_lake.load(b).manage_snapshots().rollback_to_snapshot(before).commit()
    assert complete_publish(glue_lake.catalog, [a, b]) == []
    assert glue_lake.rows(b) == [1]


def test_a_table_that_was_written_meanwhile_is_refused_and_not_guessed(
    glue_lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = _stopped_half_way(glue_lake, monkeypatch)
    glue_lake.write("another", b=[3])
    with pytest.raises(
        HalfPublished, match=rf"{b}: attempt .* published {a} and stopped .* Remedy: .*lakehouse rollback {b}"
    ):
        complete_publish(glue_lake.catalog, [a, b])
    assert glue_lake.rows(b) == [1, 3]


def test_a_branch_that_an_expiry_has_cut_is_refused_and_not_guessed(
    glue_lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = _stopped_half_way(glue_lake, monkeypatch)
    table = glue_lake.load(b)
    head = next(ref.snapshot_id for name, ref in table.metadata.refs.items() if name != "main")
    rows = next(ancestry(table, parent.parent_snapshot_id)) if (parent := table.snapshot_by_id(head)) else None
    assert rows is not None
    uuid = AssertTableUUID(uuid=table.metadata.table_uuid)
    cut = TableChange(tuple(b.split(".")), (uuid,), (remove_snapshots([rows.snapshot_id]),))
    glue_lake.catalog.commit_tables([cut])
    with pytest.raises(HalfPublished, match="was cut by an expiry"):
        complete_publish(glue_lake.catalog, [a, b])
    assert [glue_lake.rows(name) for name in (a, b)] == [[1, 2], [1]]


def test_staged_files_that_are_lost_are_said_to_be_no_way_on(glue_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = _stopped_half_way(glue_lake, monkeypatch)
    table = glue_lake.load(b)
    head = next(ref.snapshot_id for name, ref in table.metadata.refs.items() if name != "main")
    staged = table.snapshot_by_id(head)
    assert staged is not None
    table.io.delete(staged.manifest_list)
    for _ in range(2):
        with pytest.raises(HalfPublished, match=rf"{a} and stopped before .* Remedy: .*lakehouse rollback {b}"):
            complete_publish(glue_lake.catalog, [a, b])


def test_nothing_is_looked_at_where_tables_change_together(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = sql_lake.create("a"), sql_lake.create("b")
    monkeypatch.setattr(sql_lake.catalog, "load_table", None)
    assert complete_publish(sql_lake.catalog, [a, b]) == []


def test_two_who_complete_the_same_do_it_once(
    glue_lake: Lake, glue_server: GlueServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = _stopped_half_way(glue_lake, monkeypatch)
    glue_server.meanwhile["b"] = lambda: complete_publish(
        type(glue_lake.catalog)(glue_lake.catalog.name, **glue_lake.catalog.properties), [a, b]
    )
    complete_publish(glue_lake.catalog, [a, b])
    assert glue_lake.rows(b) == [1, 2]


def test_a_damaged_table_is_left_to_the_step(glue_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = _stopped_half_way(glue_lake, monkeypatch)
    damaged = glue_lake.create("c")
    table = glue_lake.load(damaged)
    table.io.delete(table.metadata_location)
    catalog = open_catalog(glue_lake.settings)  # which has not read it
    assert complete_publish(catalog, [a, b, damaged]) == [b]
    assert glue_lake.rows(b) == [1, 2]
