"""The fault matrix cannot rot: every mechanism and every test that it names is there."""

import ast

import pytest

from lakehouse_tests.faults.fault import Fault
from lakehouse_tests.faults.page import page
from lakehouse_tests.faults.table import FAULTS
from lakehouse_tests.mechanisms.mechanism import FOLDER, named
from lakehouse_tests.mechanisms.page import WIDTH
from lakehouse_tests.mechanisms.runs import ROOT
from lakehouse_tests.mechanisms.table import MECHANISMS
from lakehouse_tests.mechanisms.target import Target

every = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)


@every
def test_a_fault_is_injected_by_tests_that_are_there(fault: Fault) -> None:
    assert fault.tests
    for test in fault.tests:
        file, name = test.split("::")
        tree = ast.parse((ROOT / FOLDER / file).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, f"{test} is not there"


@every
def test_the_mechanisms_of_a_fault_are_there(fault: Fault) -> None:
    for name in fault.mechanisms:
        assert callable(Target.of(named(MECHANISMS, name).keeps).function)


def test_no_line_is_too_long() -> None:
    assert [line for line in page(FAULTS).splitlines() if len(line) > WIDTH] == []
