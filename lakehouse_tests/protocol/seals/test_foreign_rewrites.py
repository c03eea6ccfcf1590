"""A rewrite from outside is not released once its history has gone, and what is proven is not asked again.

Guarded mechanism: the snapshots that prove or disprove it are kept.
"""

from pathlib import Path

import pytest

from lakehouse.protocol.commit import publish, seal_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.foreign_rewrites import recorded_rewrites, unproven_rewrites
from lakehouse.protocol.seals.history import head_of
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.maintenance.verify.foreign_rewrites import prove_release
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.protocol.seals.foreign import ENOUGH, changed_values, publish_on, short_lived
from lakehouse_tests.steps.maintenance.verify.test_foreign_rewrites import rewrite


@pytest.fixture
def name(sql_lake: Lake) -> str:
    return short_lived(sql_lake)


def test_rows_that_a_rewrite_changed_are_not_released_after_its_history_has_gone(
    sql_lake: Lake, name: str, tmp_path: Path
) -> None:
    released = head_of(sql_lake.load(name)) or 0
    changed_values(sql_lake, name, tmp_path)
    publish_on(sql_lake, name, 6)
    table = sql_lake.load(name)
    proof = prove_release(table, head_of(table) or 0, (released,), in_process=ENOUGH)
    assert [finding.kind for finding in proof.findings] == ["rewrite_changed_rows"]
    again = prove_release(table, head_of(table) or 0, (head_of(table) or 0,), in_process=ENOUGH)
    assert (again.findings, again.unproven) == ((), ())


def test_what_a_seal_says_is_proven_is_open_no_more(sql_lake: Lake, name: str, tmp_path: Path) -> None:
    snapshot_ids = [rewrite(sql_lake, name, rows, tmp_path) for rows in ([3, 2, 1], [2, 3, 1])]
    publish_on(sql_lake, name, 1)
    table = sql_lake.load(name)
    assert unproven_rewrites(table, head_of(table)) == snapshot_ids[::-1]
    assert recorded_rewrites(table, head_of(table)) == {*snapshot_ids}
    base, attempt = sql_lake.bases(name)[name], Attempt("run", "maintain:a")
    assert base.sealed is not None
    seal = Seal.repeated(base.sealed.seal, attempt, proven=snapshot_ids[:1])
    publish(sql_lake.catalog, [seal_branch(sql_lake.catalog, base, attempt, seal)])
    for times in (0, 1, 4):
        publish_on(sql_lake, name, times)
        table = sql_lake.load(name)
        assert unproven_rewrites(table, head_of(table)) == snapshot_ids[1:]
