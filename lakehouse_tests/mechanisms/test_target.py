"""A function is replaced wherever it is called from, and stays what it was: a method, a class method or a property."""

import sys
from types import ModuleType
from typing import Any

import pytest

from lakehouse_tests.mechanisms.mechanism import answers, gives, ignores
from lakehouse_tests.mechanisms.target import Target, TargetMissing

MODULE = "lakehouse_tests.mechanisms.of_a_test"


def keeps(number: int) -> int:
    if number < 0:
        raise ValueError(number)
    return number


class Gate:
    def method(self) -> str:
        return "refused"

    @classmethod
    def made(cls) -> str:
        return "refused"

    @staticmethod
    def alone() -> str:
        return "refused"

    @property
    def open(self) -> bool:
        return False


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    made = ModuleType(MODULE)
    made.keeps, made.Gate = keeps, type("Gate", (), dict(vars(Gate)))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, MODULE, made)
    return made


def test_a_function_is_replaced_where_it_was_imported_to(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    importer: Any = ModuleType("lakehouse_tests.importer")
    importer.known_as = keeps
    monkeypatch.setitem(sys.modules, "lakehouse_tests.importer", importer)
    monkeypatch.setitem(globals(), "keeps", keeps)
    target = Target.of(f"{MODULE}:keeps")
    passing = target.replace(ignores(ValueError, gives=0))
    target.rebind(passing)
    assert [called(-1) for called in (module.keeps, importer.known_as)] == [0, 0]
    assert importer.known_as(1) == 1


@pytest.mark.parametrize("name", ["method", "made", "alone"])
def test_a_method_stays_one(module: Any, name: str) -> None:
    Target.of(f"{MODULE}:Gate.{name}").replace(answers(str.upper))
    assert getattr(module.Gate(), name)() == "REFUSED"


def test_a_property_stays_one(module: Any) -> None:
    Target.of(f"{MODULE}:Gate.open").replace(gives(value=True))
    assert module.Gate().open


@pytest.mark.parametrize("path", ["lakehouse.nowhere:f", f"{MODULE}:absent", f"{MODULE}:Gate.absent"])
def test_what_is_not_there_is_named(module: Any, path: str) -> None:
    with pytest.raises(TargetMissing, match=path):
        Target.of(path)
