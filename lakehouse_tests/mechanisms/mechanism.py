"""A mechanism: what it prevents, the function that keeps it, what lets everything pass in its place, and its guard."""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Function = Callable[..., Any]
Breaking = Callable[[Function], Function]
"""From the function that keeps a promise to the one that lets everything pass."""

FOLDER = "lakehouse_tests/"


@dataclass(frozen=True)
class Mechanism:
    """One mechanism.

    Args:
        name: what people call it.
        promise: number of the promise (design, section 1) and what would happen without the mechanism.
        keeps: the function that keeps it, `lakehouse.module:function` or `lakehouse.module:Class.method`.
        lets_pass: makes of that function one that lets everything pass.
        guard: the test that fails then, below `lakehouse_tests/`.
    """

    name: str
    promise: str
    keeps: str
    lets_pass: Breaking
    guard: str

    @property
    def number(self) -> str:
        """Of the promise."""
        return self.promise.partition(": ")[0]

    @property
    def prevents(self) -> str:
        """What would happen without it."""
        return self.promise.partition(": ")[2]

    @property
    def node(self) -> str:
        """The guard as pytest names it."""
        return FOLDER + self.guard


def gives(value: Any) -> Breaking:
    """Whatever is asked, the answer is this."""
    return lambda original: lambda *args, **named: value


def ignores(*refusals: type[Exception], gives: Any = None) -> Breaking:
    """The function as it is, without some of its refusals."""

    def breaking(original: Function) -> Function:
        def passing(*args: Any, **named: Any) -> Any:
            try:
                return original(*args, **named)
            except refusals:
                return gives

        return passing

    return breaking


def answers(change: Callable[[Any], Any]) -> Breaking:
    """The function as it is, with another answer."""
    return lambda original: lambda *args, **named: change(original(*args, **named))


def named(mechanisms: Sequence[Mechanism], name: str) -> Mechanism:
    """The mechanism of a name.

    Raises:
        KeyError: there is none; its argument says so, and which may be meant.
    """
    for mechanism in mechanisms:
        if mechanism.name == name:
            return mechanism
    near = difflib.get_close_matches(name, [mechanism.name for mechanism in mechanisms], cutoff=0.4)
    hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else "All names are in docs/reference/mechanisms.md."
    raise KeyError(f"There is no mechanism {name!r}. {hint}")
