"""Any order of modules: slow ones first by default, reversed, or shuffled by a seed; the same in every process."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from lakehouse_tests.order import pytest_collection_modifyitems, pytest_configure

MODULES = {"a.py": (), "b.py": ("slow",), "c.py": ("slow", "browser"), "d.py": ("slow", "soak")}


class Item(SimpleNamespace):
    """What is asked of a test."""

    def get_closest_marker(self, name: str) -> str | None:
        """The mark, if it has it."""
        return name if name in self.marks else None


def ordered(order: str) -> list[str]:
    items = [Item(nodeid=f"{name}::{test}", marks=marks) for name, marks in MODULES.items() for test in "xy"]
    config = SimpleNamespace(getoption={"order": order}.__getitem__)
    pytest_collection_modifyitems(cast("Any", config), cast("Any", items))
    names = [item.nodeid for item in items]
    assert [name[-1] for name in names] == ["x", "y"] * len(MODULES), "within a module nothing moves"
    return [name.split("::")[0] for name in names[::2]]


def test_slow_modules_come_first_and_what_only_a_soak_runs_does_not_count() -> None:
    assert ordered("") == ["c.py", "b.py", "a.py", "d.py"]


def test_other_orders() -> None:
    assert ordered("reverse") == ["d.py", "c.py", "b.py", "a.py"]
    assert ordered("shuffle:1") == ordered("shuffle:1")
    assert len({tuple(ordered(f"shuffle:{seed}")) for seed in range(20)}) > 5


def test_no_such_order() -> None:
    config = SimpleNamespace(getoption={"order": "sorted"}.__getitem__)
    with pytest.raises(pytest.UsageError, match="'sorted': it is `reverse` or `shuffle:SEED`"):
        pytest_configure(cast("Any", config))
