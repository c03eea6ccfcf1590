"""The order of modules: slow ones first, so that the processes of a run end together; or another, to show any will do.

`pytest --order reverse` and `pytest --order shuffle:7` (a seed) run the modules in another order. Within a module tests
stay as they are written: some go through one running lakehouse step by step, as a person would.
"""

import re
from random import Random

import pytest

_LONGEST_FIRST = ("browser", "slow")
_SHUFFLE = re.compile(r"shuffle:\d+")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--order`."""
    parser.addoption("--order", default="", metavar="ORDER", help="order of modules: reverse, or shuffle:SEED")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse an order that there is not before other processes are started, which could only crash."""
    order = config.getoption("order")
    if order and order != "reverse" and not _SHUFFLE.fullmatch(order):
        raise pytest.UsageError(f"--order {order!r}: it is `reverse` or `shuffle:SEED`, where SEED is a number.")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put modules in order; every process of a run comes to the same."""
    modules: dict[str, list[pytest.Item]] = {}
    for item in items:
        modules.setdefault(item.nodeid.split("::")[0], []).append(item)
    items[:] = [item for name in _ordered(config.getoption("order"), modules) for item in modules[name]]


def _ordered(order: str, modules: dict[str, list[pytest.Item]]) -> list[str]:
    if not order:
        return sorted(modules, key=lambda name: [not _marked(modules[name], mark) for mark in _LONGEST_FIRST])
    names = sorted(modules)
    if order == "reverse":
        return names[::-1]
    Random(int(order.removeprefix("shuffle:"))).shuffle(names)
    return names


def _marked(items: list[pytest.Item], mark: str) -> bool:
    return any(item.get_closest_marker(mark) and not item.get_closest_marker("soak") for item in items)
