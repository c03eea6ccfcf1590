"""`lakehouse release`, as a person calls it, and its part of `lakehouse audit`."""

import getpass
import json

import pytest
from typer.testing import CliRunner, Result

from lakehouse.cli import app
from lakehouse.declarations import Declarations
from lakehouse.protocol.catalog import remove_ref
from lakehouse.steps.release.names import tag_of
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.release.conftest import DATE, Group, make_group

pytestmark = pytest.mark.slow


@pytest.fixture
def group(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Group:
    """A declared release that nothing was released of yet."""
    made = make_group(sql_lake, name="things")
    declared = Declarations({}, {}, {}, releases={"things": made.declared})
    monkeypatch.setattr("lakehouse.cli.declared.load_sound", lambda *_, **__: declared)
    monkeypatch.setattr("lakehouse.cli.commands.run.release.catalog_of", lambda _: made.catalog)
    return made


def call(*words: str, columns: int = 200) -> Result:
    return CliRunner().invoke(app, ("release", *words), env={"COLUMNS": str(columns)})


def released(group: Group) -> str:
    group.make()
    return group.release().id


def test_show_tells_what_readers_get(group: Group) -> None:
    made = released(group)
    result = call("show", "things")
    assert result.exit_code == 0, result.output
    assert f"Release {made}" in result.stdout
    for short in "abc":
        assert f"{group.name(short)} │ {group.head(short)}" in result.stdout
    assert f"VERSION AS OF '{tag_of(made)}'" in result.stdout
    release = json.loads(call("show", "things", "--json").stdout)
    assert (release["id"], release["tag"], release["current"], release["kind"]) == (made, tag_of(made), True, "release")
    assert (release["runtime_date"], release["parameters"]) == (DATE, '{"p":"p"}')
    assert [member["snapshot_id"] for member in release["members"]] == [group.head(short) for short in "abc"]


def test_show_an_older_one(group: Group) -> None:
    first, _ = released(group), released(group)
    release = json.loads(call("show", "things", "--id", first, "--json").stdout)
    assert (release["id"], release["current"]) == (first, False)


def test_a_release_that_is_not_whole_is_an_error(group: Group) -> None:
    made = released(group)
    group.change("b", remove_ref(tag_of(made)))
    result = call("show", "things")
    assert result.exit_code == 2
    assert "was removed, though the release is kept. Remedy: set it again at snapshot " in result.stderr


def test_rollback_needs_a_yes_and_is_on_record(group: Group) -> None:
    first, second = released(group), released(group)
    shown = call("rollback", "things", first, "--why", "wrong delays")
    assert shown.exit_code == 0
    assert f"Readers of things would get {first} instead of {second}." in shown.stdout
    report = {"group": "things", "before": second, "release": first, "done": False}
    assert json.loads(call("rollback", "things", first, "--why", "wrong delays", "--json").stdout) == report
    assert group.open().id == second
    done = call("rollback", "things", first, "--why", "wrong delays", "--yes")
    assert done.exit_code == 0, done.output
    assert f"Readers of things get {first} now, {second} before." in done.stdout
    history = json.loads(call("list", "--json").stdout)["things"]
    assert [(move["id"], move["kind"], move["current"], move["readable"]) for move in history] == [
        (first, "rollback", True, True),
        (second, "release", False, True),
        (first, "release", True, True),
    ]
    assert history[0]["moved_by"].startswith(f"{getpass.getuser()}@")
    assert history[0]["why"] == "wrong delays"
    listed = call("list", "things", columns=80).stdout.splitlines()
    assert len(listed) == 1 + len(history), "one line for each move, and nothing is cut off in 80 columns"
    assert f"wrong delays (by {history[0]['moved_by']})" in listed[1]
    assert "  current  " in listed[1]


def test_what_cannot_be_done_is_one_line(group: Group) -> None:
    assert "There is no release other. Remedy: name one of things" in call("show", "other").stderr
    nothing = call("show", "things")
    assert nothing.exit_code == 2
    assert "names no release yet" in nothing.stderr
    assert "things: nothing was released yet." in call("list").stdout
    made = released(group)
    unknown = f"has no release x. Remedy: name one that is kept, such as {made}; `lakehouse release list` shows all"
    assert unknown in call("rollback", "things", "x", "--why", "x").stderr
    assert unknown in call("show", "things", "--id", "x").stderr


@pytest.mark.parametrize("yes", [("--yes",), ()])
def test_rollback_to_what_is_current_changes_nothing(group: Group, yes: tuple[str, ...]) -> None:
    made, before = released(group), group.load_pointer()
    result = call("rollback", "things", made, "--why", "x", *yes)
    assert result.exit_code == 0
    assert result.stdout.strip() == f"Readers of things get {made} already; nothing to do."
    assert group.load_pointer() == before


def test_what_was_dropped_is_one_line_with_a_remedy(group: Group) -> None:
    made = released(group)
    group.catalog.drop_table(tuple(group.name("c").split(".")))
    member = call("show", "things")
    assert member.exit_code == 2
    assert f"{group.name('c')} was dropped after release {made} was made" in member.stderr
    assert "Remedy: materialize the table and release again" in member.stderr
    group.catalog.drop_table(group.declared.table.identifier)
    back = ("rollback", "things", made, "--why", "x")
    for words in (("show", "things"), back, (*back, "--yes")):
        result = call(*words)
        assert result.exit_code == 2, words
        assert "There is no table release.things: nothing was released under this name, or the table" in result.stderr
        assert "Remedy: materialize the asset release/things" in result.stderr
    assert "things: nothing was released yet." in call("list").stdout


def audited(group: Group, monkeypatch: pytest.MonkeyPatch, *words: str) -> Result:
    declared = Declarations({}, {}, {}, releases={"things": group.declared})
    monkeypatch.setattr("lakehouse.cli.declared.load_sound", lambda *_, **__: declared)
    monkeypatch.setattr("lakehouse.cli.commands.prove.audit.catalog_of", lambda _: group.catalog)
    return CliRunner().invoke(app, ("audit", *words), env={"COLUMNS": "160"})


def test_the_audit_judges_each_release(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "nothing yet" in audited(group, monkeypatch).stdout
    made = released(group)
    good = audited(group, monkeypatch)
    assert good.exit_code == 0, good.output
    assert f"things  │ {made} │      3 │ {DATE}   │        1" in good.stdout
    group.change("b", remove_ref(tag_of(made)))
    bad = audited(group, monkeypatch, "things")
    assert bad.exit_code == 1
    assert f"BROKEN tag_missing: {group.name('b')}: {group.name('b')} has no tag {tag_of(made)}." in bad.stdout
    verdict = json.loads(audited(group, monkeypatch, "--json").stdout)
    assert (verdict["holds"], verdict["releases"][0]["group"], verdict["releases"][0]["holds"]) == (
        False,
        "things",
        False,
    )
