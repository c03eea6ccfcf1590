"""The table cannot rot: every function and every guard that it names is there, and the page says the same."""

import ast
from functools import cache

import pytest

from lakehouse_tests.mechanisms.mechanism import Mechanism
from lakehouse_tests.mechanisms.page import PAGE, WIDTH, page
from lakehouse_tests.mechanisms.runs import ROOT
from lakehouse_tests.mechanisms.table import MECHANISMS
from lakehouse_tests.mechanisms.target import Target

PROMISES = {"P1", "P2", "P3", "P4", "P5"}
# A guard is asked often, so it may need a server, but no patience.
LEFT_OUT = {"slow", "soak", "browser", "kill"}
every = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.name)


def test_there_are_at_least_thirty_of_all_promises() -> None:
    assert len(MECHANISMS) >= 30
    assert {mechanism.number for mechanism in MECHANISMS} == PROMISES


def test_names_are_unique() -> None:
    names = [mechanism.name for mechanism in MECHANISMS]
    assert len(set(names)) == len(names)


@every
def test_the_function_is_there_and_can_be_replaced(mechanism: Mechanism) -> None:
    target = Target.of(mechanism.keeps)
    assert callable(mechanism.lets_pass(target.function))


@every
def test_the_guard_is_there_and_takes_no_long_run(mechanism: Mechanism) -> None:
    file, _, name = mechanism.node.partition("[")[0].partition("::")
    assert name in _tests(file), f"{mechanism.guard} is not there"
    assert not _tests(file)[name] & LEFT_OUT, f"{mechanism.guard} is marked slow, soak, browser or kill"


@cache
def _tests(file: str) -> dict[str, set[str]]:
    """Test → marks, its module's included."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    ours: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "pytestmark" for t in node.targets):
            ours |= _marks(node.value)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {f.name: ours.union(*map(_marks, f.decorator_list)) for f in functions if f.name.startswith("test")}


def _marks(expression: ast.expr) -> set[str]:
    """The names behind `pytest.mark`."""
    return {
        node.attr
        for node in ast.walk(expression)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == "mark"
    }


def test_the_page_says_what_the_table_says() -> None:
    command = ".venv/bin/python -m lakehouse_tests.mechanisms --write"
    assert PAGE.read_text(encoding="utf-8") == page(MECHANISMS), f"write it anew: {command}"
    long = [line for line in page(MECHANISMS).splitlines() if len(line) > WIDTH]
    assert not long, f"longer than {WIDTH}: shorten the promise, the function or the test of {long}"
