"""What is wrong of a table that has gone on is looked at again.

Guarded mechanism: what was loaded before is looked at anew where a proof fails and a table has gone on meanwhile.
"""

import pytest
from typer.testing import CliRunner

from lakehouse.cli import app
from lakehouse.cli.commands.prove import audit_proofs as command
from lakehouse.cli.commands.prove.audit_scope import Auditing, Kind
from lakehouse.cli.commands.prove.kinds.commits import CommitsProof
from lakehouse.proofs.audit import Finding
from lakehouse_tests.proofs.lineage.computed import A, Computed


def judging(looked_at: list[int | None], expected: int | None) -> Kind[CommitsProof]:
    """A kind of proof that finds a table wrong where it is not at a snapshot."""

    def prove(auditing: Auditing, name: str) -> CommitsProof:
        table = auditing.tables.load(name)
        assert table is not None
        looked_at.append(table.metadata.current_snapshot_id)
        wrong = expected is not None and looked_at[-1] != expected
        return CommitsProof(name, (Finding("rows_differ", "wrong", name),) if wrong else ())

    return Kind("commits", lambda _: [A], prove, lambda context, proofs: None)


def test_what_is_wrong_of_a_table_that_has_gone_on_is_looked_at_again(
    lake: Computed, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = lake.head(A)
    looked_at: list[int | None] = []
    after: list[int] = []
    writing = Kind("commits", lambda _: [A], lambda _, name: after.append(lake.source()) or CommitsProof(name), _silent)

    def at_the_newest(auditing: Auditing, name: str) -> CommitsProof:
        return judging(looked_at, after[0]).prove(auditing, name)

    judge = Kind("commits", lambda _: [A], at_the_newest, _silent)
    monkeypatch.setattr(command, "KINDS", (judging([], None), writing, judge))
    assert CliRunner().invoke(app, ["audit"]).exit_code == 0
    assert looked_at == [before, after[0]]


def test_what_is_wrong_of_a_table_that_stays_as_it_is_is_looked_at_once(
    lake: Computed, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[int | None] = []
    monkeypatch.setattr(command, "KINDS", (judging([], None), judging(looked_at, 0)))
    assert CliRunner().invoke(app, ["audit"]).exit_code == 1
    assert looked_at == [lake.head(A)]


def _silent(*_: object) -> None:
    return None
