"""Every kind of broken promise has a remedy, whoever writes the table; and each command that one names is there.

Guarded mechanism: kinds are read from the source, so one that nobody has thought of fails here.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

import lakehouse
from lakehouse.cli.commands.prove.remedies import Owner, remedies_of, remedy_for
from lakehouse.declarations import load_declarations
from lakehouse.proofs.audit import Finding
from lakehouse.protocol.damage.damage import DamageKind
from lakehouse_tests.cli.whole_command import whole_command
from lakehouse_tests.fixtures.demo_declarations import demo_declarations

# What makes a finding → what `lakehouse audit` puts before its kind.
PREFIXES = {"Finding": "", "Broken": "", "DateFinding": "date_", "LineageFinding": "lineage_"}
DECLARED = load_declarations([demo_declarations()])


def kinds_in_source() -> Iterator[str]:
    """Every literal that is the kind of a finding."""
    texts = (file.read_text() for file in Path(lakehouse.__file__).parent.rglob("*.py"))
    for text in texts:
        if not any(f"{name}(" in text for name in PREFIXES):
            continue
        for call in ast.walk(ast.parse(text)):
            name = getattr(call.func, "id", "") if isinstance(call, ast.Call) else ""
            if isinstance(call, ast.Call) and name in PREFIXES and call.args:
                yield from (PREFIXES[name] + literal for literal in literals(call.args[0]))


def literals(kind: ast.expr) -> Iterator[str]:
    match kind:
        case ast.Constant(str(text)):
            yield text
        case ast.IfExp():
            yield from (*literals(kind.body), *literals(kind.orelse))
        case _:
            pass


def lost_kinds() -> set[str]:
    return {kind for kind in get_args(DamageKind) if kind not in ("equality_delete", "unread_format")}


KINDS = sorted({*kinds_in_source(), *lost_kinds()})


def written_tables() -> dict[Owner, str]:
    """One table of each kind that the demo has, by name."""
    stream = next(iter(DECLARED.streams.values()))
    release = next(iter(DECLARED.releases.values()))
    return {
        "stream": stream.tables[0],
        "mirror": next(iter(DECLARED.mirrors)),
        "derived": next(iter(DECLARED.derived)),
        "release": release.pointer,
        "other": "lakehouse.audit_log",
    }


def test_the_kinds_are_found() -> None:
    assert {"missing_file", "rolled_back", "seal_edited", "date_unsealed", "lineage_undeclared_read"} <= set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_remedy_for_every_table(kind: str) -> None:
    for table in written_tables().values():
        remedy = remedy_for(DECLARED, kind, table)
        assert remedy
        assert "{" not in remedy
        for command in re.findall(r"`lakehouse ([^`]*)`", remedy):
            assert_known(command)


def assert_known(command: str) -> None:
    """Its verb and its options exist."""
    verb: object = whole_command()
    words = command.split()
    while hasattr(verb, "commands") and words:
        verb = verb.commands[words.pop(0)]  # type: ignore[attr-defined]
    options = {option for parameter in verb.params for option in parameter.opts}  # type: ignore[attr-defined]
    assert {word for word in words if word.startswith("--")} <= options, command


def test_a_message_that_has_its_remedy_gets_no_other() -> None:
    assert remedy_for(DECLARED, "missing_file", "a.b", "a.b: gone. Remedy: restore it.") == ""


@pytest.mark.parametrize("owner", get_args(Owner))
def test_of_a_file_of_an_older_state_nothing_is_to_be_computed_anew(owner: Owner) -> None:
    table = written_tables()[owner]
    remedy = remedy_for(DECLARED, "missing_file", table, f"{table}: data file a is gone. The tag release-1 keeps it.")
    assert "from a backup" in remedy
    assert not {"derive", "rollback", "rebuild"} & set(remedy.split())


def test_rows_that_are_in_a_lost_file_come_back_with_it() -> None:
    """`adopt` would be refused: by the seals every row is accounted for."""
    table, other = DECLARED.streams["flights"].tables[0], "mart.other"
    differ = Finding("rows_differ", f"{table}: 1 row is missing.", table)
    lost = Finding("missing_file", f"{table}: data file a.parquet is gone.", table)
    elsewhere = Finding("missing_file", f"{other}: data file a.parquet is gone.", other)
    with_file, of_file = remedies_of(DECLARED, "flights", [differ, lost])
    assert with_file == of_file
    assert "from a backup" in with_file
    assert "lakehouse adopt" in remedies_of(DECLARED, "flights", [differ, elsewhere])[0]
