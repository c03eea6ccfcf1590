"""Where a mirror stands is what its tables say together; where they do not, nothing goes on.

Guarded mechanism: the mirror's tables have to tell the same.
"""

from pathlib import Path
from typing import Any

import pytest

from lakehouse.protocol.commit import publish, seal_branch, stage_files
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.protocol.seals.history import head_of
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.cdc.refusals import MirrorRelisted, MirrorWithoutSeal, MirrorWrittenTo, StatementsDiffer
from lakehouse.steps.cdc.statement import MirrorStatement
from lakehouse.steps.cdc.stored_statement import newest_statement, stored_statement
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.maintenance.verify.test_foreign_rewrites import OTHER_CLAIMS, relist

NAME = "mirror.things"


def stated(**more: Any) -> MirrorStatement:
    return MirrorStatement(
        **{"changelog": "changelog.things", "changelog_uuid": "u", "build": "b", "start": None, "end": 1} | more
    )


class Three:
    """The three tables of a mirror, sealed by hand."""

    names = ("a", "b", "q")

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        for name in self.names:
            lake.create(name)

    def bases(self) -> dict[str, Base]:
        return self.lake.bases(*(f"{self.lake.namespace}.{name}" for name in self.names))

    def seal(self, *names: str, kind: str = "mirror", **statement: Any) -> None:
        bases, attempt = self.bases(), Attempt(run_id="r", step="mirror")
        staged = []
        for base in bases.values():
            if base.identifier[1] in (names or self.names):
                if kind == "mirror":
                    stage_files(self.lake.catalog, base, attempt, self.lake.files(base.name, [1]))
                keys = stated(**statement).to_keys() if kind == "mirror" else {}
                seal = Seal.of(attempt, kind, statement=keys, previous=base.sealed.seal if base.sealed else None)
                staged.append(seal_branch(self.lake.catalog, base, attempt, seal))
        publish(self.lake.catalog, staged)


@pytest.fixture
def three(sql_lake: Lake) -> Three:
    return Three(sql_lake)


def test_where_a_mirror_stands(three: Three) -> None:
    assert stored_statement(NAME, three.bases()) is None
    three.seal(rows=1)
    three.seal(kind="maintenance")
    statement = stored_statement(NAME, three.bases())
    assert statement is not None
    assert (statement.end, statement.rows) == (1, 1)
    assert newest_statement(three.lake.load(f"{three.lake.namespace}.a")) == statement


def test_tables_that_do_not_tell_the_same(three: Three) -> None:
    three.seal(rows=1)
    three.seal("a", rows=2)
    with pytest.raises(StatementsDiffer):
        stored_statement(NAME, three.bases())


def test_a_table_that_was_created_anew(three: Three) -> None:
    three.seal(rows=1)
    three.lake.catalog.drop_table((three.lake.namespace, "b"))
    three.lake.create("b")
    with pytest.raises(StatementsDiffer, match="no seal"):
        stored_statement(NAME, three.bases())


def test_rows_without_a_seal(three: Three) -> None:
    table = three.lake.load(f"{three.lake.namespace}.a")
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        append.append_data_file(three.lake.files(f"{three.lake.namespace}.a", [1])[0])
    with pytest.raises(MirrorWithoutSeal, match="initial"):
        stored_statement(NAME, three.bases())


def test_a_mirror_that_somebody_wrote_to(three: Three) -> None:
    three.seal(rows=1)
    table = three.lake.load(f"{three.lake.namespace}.a")
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        append.append_data_file(three.lake.files(f"{three.lake.namespace}.a", [1])[0])
    with pytest.raises(MirrorWrittenTo, match=f"snapshot {head_of(three.lake.load(f'{three.lake.namespace}.a'))}"):
        stored_statement(NAME, three.bases())


def test_a_table_of_the_mirror_that_was_set_back_alone(sql_lake: Lake) -> None:
    names = [sql_lake.create(name) for name in "ab"]
    for rows, sealed in ((1, names), (2, names[:1])):
        bases, attempt = sql_lake.bases(*sealed), Attempt("run", f"mirror:{rows}")
        keys = stated(rows=rows).to_keys()
        publish(sql_lake.catalog, [sql_lake.stage(bases[name], attempt, [], **keys) for name in sealed])
    with pytest.raises(StatementsDiffer):
        stored_statement(NAME, sql_lake.bases(*names))


def test_a_mirror_whose_files_somebody_lists_otherwise(three: Three, tmp_path: Path) -> None:
    """A MERGE leaves out files by the bounds of the key, and would put in again what it does not find."""
    three.seal(rows=1)
    name = f"{three.lake.namespace}.a"
    relist(three.lake, name, tmp_path)
    assert stored_statement(NAME, three.bases()), "the same files in other manifests"
    relisted = relist(three.lake, name, tmp_path, alter=OTHER_CLAIMS["lower bound"])
    with pytest.raises(MirrorRelisted, match=f"snapshot {relisted} of {name}, .* another lower bound of field 1"):
        stored_statement(NAME, three.bases())
    three.seal(rows=2)
    with pytest.raises(MirrorRelisted):  # it came while the newest seal was being published
        stored_statement(NAME, three.bases())
