"""A catalog that publishes what is staged is recognised by behaviour; here the embedded one is made to behave so.

Guarded mechanisms: the probe, and the look at `main` after every commit to a branch.
"""

from collections.abc import Sequence
from typing import Any

import pytest
from pyiceberg.table.update import SetSnapshotRefUpdate

from lakehouse.protocol.catalog import TableChange, UnsafeCatalog, probe
from lakehouse.protocol.catalog.sql_catalog.sql_commits import SqlCommits
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse_tests.fixtures.lakes import Lake


@pytest.fixture
def branchless(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """A commit to a branch moves `main` as well."""
    commit = SqlCommits.commit

    def moving(commits: SqlCommits, changes: Sequence[TableChange]) -> Any:
        return commit(commits, [TableChange(c.identifier, c.requirements, (*c.updates, *on_main(c))) for c in changes])

    def on_main(change: TableChange) -> list[SetSnapshotRefUpdate]:
        heads = [update for update in change.updates if isinstance(update, SetSnapshotRefUpdate)]
        return [head.model_copy(update={"ref_name": "main"}) for head in heads if head.ref_name != "main"]

    monkeypatch.setattr(SqlCommits, "commit", moving)
    return sql_lake


def test_the_probe_refuses_it(branchless: Lake) -> None:
    with pytest.raises(UnsafeCatalog, match="ignores branches"):
        probe(branchless.catalog, branchless.namespace)


def test_a_step_stops_before_it_is_published(branchless: Lake) -> None:
    name = branchless.create("a")
    with pytest.raises(UnsafeCatalog, match="a commit to a branch moved main"):
        branchless.stage(branchless.bases(name)[name], Attempt("run", "step"), [1])
