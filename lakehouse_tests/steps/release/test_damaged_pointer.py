"""A release pointer that nobody can believe stops the expiry of what it may be about, and of no other table.

Guarded mechanism: tables that are no members of the group go on.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lakehouse.cli import app
from lakehouse.cli.commands.prove import audit, audit_proofs
from lakehouse.declarations import ORPHANS, Declarations, Expire
from lakehouse.protocol.errors import SealBroken
from lakehouse.steps.maintenance.expire.expire import expire
from lakehouse_tests.proofs.audit.document import Document, edit_document, seals
from lakehouse_tests.steps.release.conftest import Group, MakeGroup

SMALL = Expire(min_snapshots_to_keep=2, max_snapshots=2, at_least=1)


@pytest.fixture
def group(sql_group: MakeGroup, tmp_path: Path) -> Group:
    """A release whose pointer was edited, and a table beside it."""
    group = sql_group(keep=2)
    group.make()
    group.release()
    group.lake.create("other")
    for number in range(5):
        group.lake.write(f"s{number}", other=[number])

    def forge(document: Document) -> None:
        seals(document)[0]["lakehouse.release.current"] += "x"

    edit_document(tmp_path / "catalog.db", group.declared.pointer, forge)
    return group


def declared(group: Group, *members: str) -> Declarations:
    """With these members alone; the tags are those of all three."""
    release = replace(group.declared, members=tuple(map(group.name, members)))
    names = (*map(group.name, ("a", "b", "c", "other")), release.pointer)
    tables = {name: replace(ORPHANS, name=name) for name in names}
    return Declarations(tables, {}, {}, releases={release.name: release})


def test_expiry_of_other_tables_goes_on(group: Group) -> None:
    name = group.name("other")
    assert expire(group.catalog, declared(group, "a"), name, SMALL).selection.snapshot_ids


@pytest.mark.parametrize("table", ["a", "b", "pointer"])
def test_of_members_by_declaration_or_tag_and_of_the_pointer_nothing_goes(group: Group, table: str) -> None:
    name = group.declared.pointer if table == "pointer" else group.name(table)
    with pytest.raises(SealBroken, match=rf"{group.declared.pointer} snapshot \d+: the seal was changed"):
        expire(group.catalog, declared(group, "a"), name, SMALL)


def test_the_audit_tells_it_once(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_proofs, "catalog_of", lambda _: group.catalog)
    for module in (audit, audit_proofs):
        monkeypatch.setattr(module, "declarations_of", lambda _: declared(group, "a", "b", "c"))
    result = CliRunner().invoke(app, ["audit"])
    assert result.exit_code == 1, result.output
    assert "BROKEN pointer: " in result.output
    assert result.output.count("NOT PROVEN: ") == 1, result.output
