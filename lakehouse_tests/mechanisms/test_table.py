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
    node, _, parameter = mechanism.node.partition("[")
    file, _, name = node.partition("::")
    assert name in _tests(file), f"{mechanism.guard} is not there"
    marks = _tests(file)[name] | _marks_of_parameter(file, name, parameter.removesuffix("]"))
    assert not marks & LEFT_OUT, f"{mechanism.guard} is marked slow, soak, browser or kill"


@cache
def _tests(file: str) -> dict[str, set[str]]:
    """Test → marks, its module's included."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    ours: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "pytestmark" for t in node.targets):
            ours |= _marks(node.value)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {
        f.name: ours.union(*(_marks(node) for node in f.decorator_list if "parametrize" not in _marks(node)))
        for f in functions
        if f.name.startswith("test")
    }


@cache
def _marks_of_parameter(file: str, name: str, parameter: str) -> set[str]:
    """The marks of one value of `parametrize`; where the guard names none, those that all of its values have."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
    marked = [
        _marks(value)
        for decorator in function.decorator_list
        if isinstance(decorator, ast.Call) and "parametrize" in _marks(decorator)
        for values in decorator.args[1:]
        if isinstance(values, ast.List | ast.Tuple)
        for value in values.elts
        if parameter in ("", _shown(value))
    ]
    return set.intersection(*marked) if marked else set()


def _shown(value: ast.expr) -> str:
    """What stands for a value in a test's name; empty where that is not to be seen."""
    if isinstance(value, ast.Call) and value.args:
        given = [keyword.value for keyword in value.keywords if keyword.arg == "id"]
        return _shown((given or value.args)[0])
    return str(value.value) if isinstance(value, ast.Constant) else ""


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
