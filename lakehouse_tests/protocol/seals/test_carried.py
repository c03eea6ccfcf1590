"""A finding stays while the evidence of it is trimmed and expired, until somebody settles it.

Guarded mechanisms: what seals carry on, and that snapshots which prove or disprove it are kept.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from lakehouse import seal_keys
from lakehouse.declarations import Maintenance
from lakehouse.proofs.audit.chain import unsealed_findings
from lakehouse.proofs.audit.columns import audit_columns
from lakehouse.protocol.commit import publish, seal_branch, stage_files
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.carried import MOST_COMMITS
from lakehouse.protocol.seals.history import ancestry, head_of, last_seal
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.maintenance.expire import expire as expiry
from lakehouse.steps.maintenance.model.action import Action, Operation
from lakehouse.steps.maintenance.verify.foreign_rewrites import audit_rewrites
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.proofs.audit.test_columns import declared
from lakehouse_tests.protocol.seals.foreign import (
    ENOUGH,
    SMALL,
    added_anew,
    changed_values,
    declarations,
    foreign_append,
    publish_on,
    short_lived,
    swapped_names,
)
from lakehouse_tests.steps.maintenance.house import days_ahead, work_on

Tamper = Callable[[Lake, str, Path], object]


TAMPERINGS: dict[str, tuple[Tamper, str]] = {
    "append": (foreign_append, "unsealed_commit"),
    "rewrite": (changed_values, "rewrite_changed_rows"),
    "names": (swapped_names, "columns_differ"),
    "column": (added_anew, "columns_differ"),
}
EACH = pytest.mark.parametrize(("tamper", "kind"), TAMPERINGS.values(), ids=TAMPERINGS)


@pytest.fixture
def name(sql_lake: Lake) -> str:
    return short_lived(sql_lake)


def findings(lake: Lake, name: str) -> list[str]:
    table = lake.load(name)
    return [
        finding.kind
        for finding in (
            *unsealed_findings(table, head_of(table)),
            *audit_rewrites(table, in_process=ENOUGH).findings,
            *audit_columns(table, declared(name, "n", "s")).findings,
        )
    ]


def settle(lake: Lake, name: str) -> None:
    """All rows anew, as a step of an asset writes them."""
    base, attempt = lake.bases(name)[name], Attempt("run", "write:a")
    stage_files(lake.catalog, base, attempt, [])
    seal = Seal.of(attempt, "write", statement={seal_keys.WRITE_MODE: "overwrite"}, previous=None)
    publish(lake.catalog, [seal_branch(lake.catalog, base, attempt, seal)])


@EACH
def test_a_finding_outlives_what_publishing_trims_and_expiry_deletes(
    sql_lake: Lake, name: str, tmp_path: Path, tamper: Tamper, kind: str
) -> None:
    tamper(sql_lake, name, tmp_path)
    assert findings(sql_lake, name) == [kind]
    publish_on(sql_lake, name, 6)
    assert len(list(ancestry(sql_lake.load(name), head_of(sql_lake.load(name))))) == 3
    assert findings(sql_lake, name) == [kind]
    work = work_on(sql_lake.catalog, declarations(name), name, Maintenance(expire=SMALL))
    expiry.run(work, Action(operation=Operation.EXPIRE))
    expiry.expire(sql_lake.catalog, declarations(name), name, SMALL, now=days_ahead(30))
    publish_on(sql_lake, name, 1)
    assert findings(sql_lake, name) == [kind]
    settle(sql_lake, name)
    publish_on(sql_lake, name, 1)
    assert findings(sql_lake, name) == []


@EACH
def test_it_outlives_whoever_else_removes_the_entries(
    sql_lake: Lake, name: str, tmp_path: Path, tamper: Tamper, kind: str
) -> None:
    """What nobody can compare any more is no finding, but it is not proven either."""
    tamper(sql_lake, name, tmp_path)
    publish_on(sql_lake, name, 6)
    table = sql_lake.load(name)
    older = [s.snapshot_id for s in table.metadata.snapshots if s.snapshot_id != head_of(table)]
    table.maintenance.expire_snapshots().by_ids(older).commit()
    proof = audit_rewrites(sql_lake.load(name), in_process=ENOUGH)
    if kind == "rewrite_changed_rows":
        (message,) = proof.unproven
        assert "its entry has expired" in message
    else:
        assert (findings(sql_lake, name), proof.unproven) == ([kind], ())


def test_a_seal_of_a_table_that_nobody_else_writes_says_nothing_of_it(sql_lake: Lake, name: str) -> None:
    publish_on(sql_lake, name, 6)
    sealed = last_seal(sql_lake.load(name))
    assert sealed is not None
    assert sealed.seal.statement == {}
    assert len(sql_lake.load(name).metadata.snapshots) == 3


def test_a_seal_stays_small_however_often_somebody_else_writes(sql_lake: Lake, name: str) -> None:
    rows = sql_lake.load(name).scan().to_arrow()
    for _ in range(MOST_COMMITS + 2):
        sql_lake.load(name).append(rows)
    publish_on(sql_lake, name, 5)
    assert findings(sql_lake, name) == ["unsealed_commit"] * MOST_COMMITS
