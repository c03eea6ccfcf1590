"""A name is a noun for what a value is, or a verb for what a function does: six words are neither."""

import ast
import re
from collections.abc import Iterator

import pytest

from lakehouse_tests.rooms import ROOT

NO_NAMES = {"one", "found", "told", "said", "at", "held"}
NO_PARTS = {"told", "said"}  # nor as a part of a name, such as `told_by`
# Where a text does not match, it makes no such name: most files need no parse.
MAY_BIND = re.compile(
    r"\b_*(?:one|found|told|said|at|held)_*\s*(?:[=:,)\]}([]|in\b|$)"
    r"|\b(?:as|case)\s+_*(?:one|found|told|said|at|held)_*\b"
    r"|_(?:told|said)|(?:told|said)_",
    re.IGNORECASE | re.MULTILINE,
)


def bound(node: ast.AST) -> str | None:
    """What a node makes a name for: a function, class, parameter, variable, attribute or import."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return node.name
        case ast.arg():
            return node.arg
        case ast.Name(ctx=ast.Store()):
            return node.id
        case ast.Attribute(ctx=ast.Store()):
            return node.attr
        case ast.alias():
            return node.asname
        case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar():
            return node.name
        case ast.MatchMapping():
            return node.rest
        case _:
            return None


def columns(tree: ast.Module) -> set[ast.AST]:
    """The fields of a table's schema: their names are those of its columns, so they are data."""
    schemas = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and "DataFrameModel" in map(_last, n.bases)]
    return {field.target for schema in schemas for field in schema.body if isinstance(field, ast.AnnAssign)}


def refused(text: str) -> Iterator[tuple[int, str]]:
    """Line and name of each that is none; a test's own name is a sentence, where every word may stand."""
    if not MAY_BIND.search(text):
        return
    tree = ast.parse(text)
    data = columns(tree)
    for node in ast.walk(tree):
        if node in data or (name := bound(node)) is None or name.startswith("test_"):
            continue
        if name.lower().strip("_") in NO_NAMES or NO_PARTS & set(name.lower().split("_")):
            yield node.lineno, name  # pyright: ignore[reportAttributeAccessIssue]


def _last(base: ast.expr) -> str:
    return base.attr if isinstance(base, ast.Attribute) else base.id if isinstance(base, ast.Name) else ""


@pytest.mark.parametrize("package", ["lakehouse", "benchmarks", "lakehouse_tests"])
def test_names_are_nouns_and_verbs(package: str) -> None:
    wrong = [
        f"{file.relative_to(ROOT)}:{line}: {name}"
        for file in sorted((ROOT / package).rglob("*.py"))
        for line, name in refused(file.read_text(encoding="utf-8"))
    ]
    assert wrong == [], "say what the value is: row, message, snapshot_id, lines, report, timestamp"


@pytest.mark.parametrize(
    "program",
    [
        "found = 1",
        "for one in x: pass",
        "[told for told in x]",
        "x = lambda at: 1",
        "def held(): pass",
        "class Found: pass",
        "def f(*, said): pass",
        "import x as told",
        "self._found = 1",
        "try: pass\nexcept X as one: pass",
        "match x:\n case [1, *held]: pass",
        "match x:\n case {1: 1, **held}: pass",
        "if said := x: pass",
        "class A:\n at: int",
        "AT = 1",
        "def told_by(): pass",
        "match x:\n case A() as held if y: pass",
        "import x as told  # of old",
    ],
)
def test_it_is_seen_wherever_a_name_is_made(program: str) -> None:
    assert len(list(refused(program))) == 1


@pytest.mark.parametrize(
    "program",
    [
        "def test_what_is_found_is_told(): pass",
        "class A(pandera.DataFrameModel):\n at: int",
        "found_rows = committed_at = x.at[1]",
        "f(at=1, one='told')",
    ],
)
def test_sentences_columns_and_what_is_only_read_are_let_through(program: str) -> None:
    assert list(refused(program)) == []
