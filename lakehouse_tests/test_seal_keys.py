"""The keys of seals: each is defined once, spelt nowhere else, and the page names every one."""

import ast
import re
from dataclasses import fields

from lakehouse import seal_keys
from lakehouse.protocol.seals.seal import Seal
from lakehouse_tests.rooms import ROOT

_PAGE = ROOT / "docs/reference/seals.md"
_KEYS = {value: name for name, value in vars(seal_keys).items() if name.isupper() and name != "PREFIX"}
_OF_EVERY_SEAL = {seal_keys.PREFIX + field.name for field in fields(Seal) if field.name != "statement"}


def test_a_constant_is_called_like_its_key() -> None:
    for key, name in _KEYS.items():
        assert name == key.removeprefix(seal_keys.PREFIX).replace(".", "_").upper() or name == "VERSION"


def test_no_key_is_defined_twice() -> None:
    assert len(_KEYS) == sum(name.isupper() for name in vars(seal_keys)) - 1


def test_no_other_module_spells_a_key() -> None:
    spelt = {
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in (ROOT / "lakehouse").rglob("*.py")
        if file.name != "seal_keys.py"
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in _KEYS
    }
    assert spelt == set()


def test_the_page_names_every_key_and_no_other() -> None:
    full = {key.removeprefix(seal_keys.PREFIX) for key in {*_KEYS, *_OF_EVERY_SEAL}}
    named: set[str] = set()
    rooms = {key.split(".")[0] for key in full if "." in key}
    for line in _PAGE.read_text(encoding="utf-8").splitlines():
        room = ""
        for word in re.findall(r"`([a-z_.]+)`", line):
            if word.startswith("."):
                named.add(room + word)
                continue
            room = word.split(".")[0]
            if word in full or ("." in word and room in rooms):
                named.add(word)
    assert named == full
