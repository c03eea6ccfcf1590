"""A pytest plugin: `python -m pytest -p lakehouse_tests.mechanisms.plugin --without NAME` runs without a mechanism.

`--failures PATH` writes a JSON line for each test that failed: in which phase, why, and in which file it ended.
"""

import json
from collections.abc import Generator
from pathlib import Path

import pytest

from lakehouse_tests.mechanisms.mechanism import Function, named
from lakehouse_tests.mechanisms.table import MECHANISMS
from lakehouse_tests.mechanisms.target import Target, TargetMissing


def pytest_addoption(parser: pytest.Parser) -> None:
    """Both options."""
    group = parser.getgroup("mechanisms")
    group.addoption("--without", metavar="NAME", help="replace this mechanism by what lets everything pass")
    group.addoption("--failures", metavar="PATH", type=Path, help="write down which tests failed in which phase")


def pytest_configure(config: pytest.Config) -> None:
    """Break the mechanism before tests are collected: most modules import it only then."""
    if (path := config.getoption("--failures")) is not None:
        config.pluginmanager.register(_Failures(path))
    if (name := config.getoption("--without")) is None:
        return
    try:
        mechanism = named(MECHANISMS, name)
        target = Target.of(mechanism.keeps)
    except KeyError as unknown:
        raise pytest.UsageError(unknown.args[0]) from None
    except TargetMissing as missing:
        raise pytest.UsageError(f"Mechanism '{name}' is kept by what is not there: {missing}.") from missing
    config.pluginmanager.register(_Broken(target, target.replace(mechanism.lets_pass)))


class _Broken:
    """Reaches what the first conftest modules had imported before."""

    def __init__(self, target: Target, passing: Function) -> None:
        self._target, self._passing = target, passing

    def pytest_collection_finish(self) -> None:
        self._target.rebind(self._passing)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None]:
        self._target.rebind(self._passing)  # a fixture may have imported more
        return (yield)


class _Failures:
    """Writes down what failed."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.failed:
            return
        crash = getattr(report.longrepr, "reprcrash", None)
        failure = {
            "phase": report.when,
            "test": report.nodeid,
            "reason": crash.message.partition("\n")[0] if crash else "",
            "path": crash.path if crash else "",
        }
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(failure) + "\n")
