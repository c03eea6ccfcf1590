"""Whoever compacts with another engine can expire: what is proven is let go, and stays proven.

Guarded mechanism: the seal that says what expiry has proven.
"""

from pathlib import Path

import pytest

from lakehouse.declarations import Maintenance
from lakehouse.steps.maintenance.expire import expire as expiry
from lakehouse.steps.maintenance.model.action import Action, Operation
from lakehouse.steps.maintenance.verify.foreign_rewrites import audit_rewrites
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.protocol.seals.foreign import ENOUGH, SMALL, declarations, publish_on, short_lived
from lakehouse_tests.steps.maintenance.house import days_ahead, work_on
from lakehouse_tests.steps.maintenance.verify.test_foreign_rewrites import rewrite


@pytest.fixture
def name(sql_lake: Lake) -> str:
    return short_lived(sql_lake)


def test_expiry_proves_a_rewrite_before_it_lets_go_of_what_proves_it(sql_lake: Lake, name: str, tmp_path: Path) -> None:
    same = rewrite(sql_lake, name, [3, 2, 1], tmp_path)
    publish_on(sql_lake, name, 6)
    assert sql_lake.load(name).metadata.snapshot_by_id(same) is not None
    selection = expiry.look(sql_lake.catalog, declarations(name), sql_lake.load(name), SMALL, now=days_ahead(30))
    assert {holder.owner for holder in selection.blocked} == {f"of foreign rewrite {same}"}
    work = work_on(sql_lake.catalog, declarations(name), name, Maintenance(expire=SMALL))
    done = expiry.run(work, Action(operation=Operation.EXPIRE))
    assert "1 rewrite from outside proven to hold the same rows" in done.message
    expiry.expire(sql_lake.catalog, declarations(name), name, SMALL, now=days_ahead(30))
    assert sql_lake.load(name).metadata.snapshot_by_id(same) is None
    publish_on(sql_lake, name, 6)
    proof = audit_rewrites(sql_lake.load(name), in_process=ENOUGH)
    assert (proof.findings, proof.unproven, sql_lake.rows(name)) == ((), (), [1, 2, 3])
