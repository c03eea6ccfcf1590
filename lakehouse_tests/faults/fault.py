"""A fault: what goes wrong, what happens here, the mechanisms that see to it, and the tests that inject it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """A row of the fault matrix.

    Args:
        name: what goes wrong.
        outcome: what happens here then.
        mechanisms: names, as in the table of mechanisms.
        tests: that inject it, below `lakehouse_tests/`.
    """

    name: str
    outcome: str
    mechanisms: tuple[str, ...]
    tests: tuple[str, ...]
