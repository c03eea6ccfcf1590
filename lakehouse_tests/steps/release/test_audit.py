"""The audit of releases: it passes on what our own protocol leaves behind, and names what somebody else did to it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyiceberg.table.update import SetPropertiesUpdate, SetSnapshotRefUpdate

from lakehouse.protocol.catalog import remove_ref
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.release.audit import ReleaseProof, audit_release
from lakehouse.steps.release.errors import PointerDamaged
from lakehouse.steps.release.names import tag_of
from lakehouse.steps.release.rollback import rollback
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.proofs.audit.document import Document, edit_document, redigest, seals
from lakehouse_tests.protocol.seals.test_lost_main import remove_main
from lakehouse_tests.steps.release.conftest import DATE, Group, MakeGroup, make_group

pytestmark = pytest.mark.slow


def audit(group: Group) -> ReleaseProof:
    return audit_release(group.catalog, group.declared)


@pytest.fixture
def made(sql_group: MakeGroup) -> Group:
    """Two releases."""
    group = sql_group(keep=2)
    for _ in range(2):
        group.make()
        group.release()
    return group


def move(group: Group, release_id: str, snapshot_id: int) -> None:
    tag = {"ref-name": tag_of(release_id), "type": "tag", "snapshot-id": snapshot_id}
    group.change("a", SetSnapshotRefUpdate.model_validate(tag))


def put_again(group: Group, reference: dict[str, object], *, age: str | None = None) -> None:
    """The tag of the current release, dropped and set anew where it was."""
    tag = tag_of(current(group))
    again = {"ref-name": tag, "type": "tag", "snapshot-id": group.load("a").metadata.refs[tag].snapshot_id}
    group.change("a", remove_ref(tag))
    group.change("a", SetSnapshotRefUpdate.model_validate(again | reference))
    if age is not None:
        group.change("a", SetPropertiesUpdate(updates={"history.expire.max-ref-age-ms": age}))


def current(group: Group) -> str:
    return group.open().id


def older(group: Group) -> str:
    return next(tag for tag in group.tags() if tag != tag_of(current(group))).removeprefix("release-")


def recreate(group: Group) -> None:
    group.catalog.drop_table((group.lake.namespace, "b"))
    group.lake.create("b")


def append_by_hand(group: Group) -> None:
    pointer = group.catalog.load_table(group.declared.table.identifier)
    pointer.append(pointer.scan().to_arrow())


WRONG: dict[str, tuple[Callable[[Group], object], str, str]] = {
    "tag moved": (lambda g: move(g, current(g), first(g)), "tag_moved", "names snapshot"),
    "older tag moved": (lambda g: move(g, older(g), g.head("a")), "tag_moved", "names snapshot"),
    "tag removed": (lambda g: g.change("c", remove_ref(tag_of(current(g)))), "tag_missing", "has no tag"),
    "tag that is a branch": (
        lambda g: put_again(g, {"type": "branch"}),
        "tag_replaced",
        "is a branch, which any write",
    ),
    "tag of an age": (lambda g: put_again(g, {"max-ref-age-ms": 5}), "tag_expires", "ends at an age of 5 ms"),
    "tag of the table's age": (lambda g: put_again(g, {}, age="7"), "tag_expires", "Remedy: unset history.expire.max-"),
    "member dropped": (
        lambda g: g.catalog.drop_table((g.lake.namespace, "b")),
        "member_replaced",
        "was dropped after",
    ),
    "member recreated": (recreate, "member_replaced", "was dropped and created anew after"),
    "main removed": (lambda g: remove_main(g.lake, g.declared.pointer), "no_main", "set_current_snapshot"),
    "row without a seal": (append_by_hand, "unsealed_commit", "nobody sealed snapshot"),
}


def test_a_pointer_that_makes_no_sense_is_named_with_its_snapshot(made: Group, tmp_path: Path) -> None:
    def forge(document: Document) -> None:
        summary = seals(document)[0]
        summary["lakehouse.release.members"] = "{"
        redigest(summary)

    edit_document(tmp_path / "catalog.db", made.declared.pointer, forge)
    pointer = made.catalog.load_table(made.declared.table.identifier).current_snapshot()
    assert pointer
    (finding,) = audit(made).findings
    assert (finding.kind, finding.table) == ("pointer", made.declared.pointer)
    assert f"the seal of snapshot {pointer.snapshot_id} says of a release cannot be read" in finding.message


def first(group: Group) -> int:
    return group.load("a").metadata.snapshots[1].snapshot_id


def test_what_we_leave_behind_is_sound(group: Group) -> None:
    assert audit(group).holds
    assert audit(group).current == ""
    ids: list[str] = []
    for _ in range(3):
        group.make()
        ids.append(group.release().id)
    attempt = Attempt("cli-1", "release:x")
    rollback(group.catalog, group.declared.name, ids[0], attempt, by="ann", why="test")
    proof = audit(group)
    assert proof.findings == ()
    assert (proof.current, proof.tables, proof.runtime_date, proof.kept) == (ids[0], 3, DATE, 3)
    assert proof.undecided == ()


@pytest.mark.parametrize("what", WRONG)
def test_what_somebody_did_is_named(made: Group, what: str) -> None:
    do, kind, message = WRONG[what]
    do(made)
    proof = audit(made)
    assert not proof.holds
    assert kind in {finding.kind for finding in proof.findings}
    assert any(message in finding.message for finding in proof.findings)


def test_no_release_begins_anew_where_its_pointer_was_emptied(made: Group) -> None:
    remove_main(made.lake, made.declared.pointer)
    with pytest.raises(PointerDamaged, match="its branch `main` is gone"):
        made.open()
    with pytest.raises(PointerDamaged, match="its branch `main` is gone"):
        made.release("third")


def test_a_release_of_two_vintages_is_named_though_every_tag_is_right(
    made: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if the gate were not there: what it guards against has to be seen from outside as well.
    made.write("b", 3, date="2013-05-15")
    monkeypatch.setattr("lakehouse.steps.release.step.mixed", lambda *_: [])
    monkeypatch.setattr("lakehouse.steps.release.step.held_by", lambda *_: [])
    made.release("ungated")
    assert {finding.kind for finding in audit(made).findings} == {"dates_differ", "vintages_differ"}


def test_a_document_that_was_cut_hides_nothing_of_the_other_members(made: Group) -> None:
    Path(made.load("b").metadata_location.removeprefix("file://")).write_bytes(b"{")
    move(made, current(made), first(made))
    proof = audit(made)
    assert {(finding.kind, finding.table.split(".")[-1]) for finding in proof.findings} == {
        ("unreadable_file", "b"),
        ("tag_moved", "a"),
    }


def test_pointers_that_were_swapped_are_named(sql_lake: Lake) -> None:
    groups = [make_group(sql_lake, name="first"), make_group(sql_lake, name="second", create=False)]
    for group in groups:
        group.make()
        group.release()
    for name, other in (("first", "aside"), ("second", "first"), ("aside", "second")):
        sql_lake.catalog.rename_table(f"release.{name}", f"release.{other}")
    for group in groups:
        (finding,) = audit(group).findings
        assert (finding.kind, "which another group released" in finding.message) == ("pointer", True)
        with pytest.raises(PointerDamaged, match="which another group released"):
            group.open()
