"""The page `docs/reference/faults.md`: the fault matrix, as people read it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import wrap

from lakehouse_tests.faults.fault import Fault
from lakehouse_tests.mechanisms.mechanism import named
from lakehouse_tests.mechanisms.page import WIDTH
from lakehouse_tests.mechanisms.runs import ROOT
from lakehouse_tests.mechanisms.table import MECHANISMS

PAGE: Path = ROOT / "docs" / "reference" / "faults.md"
_ABOUT = (
    "Of each fault you see what happens here, the functions that see to it, and the tests that inject it.",
    "Of each function you see what would happen without it, and the test that fails then.",
    '`make mutate NAME="fence"` shows that; all of them are on the page of [mechanisms](mechanisms.md).',
    "Tests are named from `lakehouse_tests/` on.",
    "",
    "This page is written by `.venv/bin/python -m lakehouse_tests.reference`, from `lakehouse_tests/faults/table.py`.",
)


def page(faults: Sequence[Fault]) -> str:
    """The whole page."""
    return "\n".join(_lines(faults))


def _lines(faults: Sequence[Fault]) -> Iterator[str]:
    yield "# What may go wrong, and what happens then"
    yield ""
    yield f"{len(faults)} faults are injected by tests."
    yield from _ABOUT
    for number, fault in enumerate(faults, 1):
        yield ""
        yield f"## F{number}: {fault.name}"
        yield ""
        yield from wrap(fault.outcome, WIDTH)
        yield ""
        for name in fault.mechanisms:
            mechanism = named(MECHANISMS, name)
            yield f"- {name}: `{mechanism.keeps}`"
            yield from wrap(f"  - without it: {mechanism.prevents}", WIDTH, subsequent_indent="    ")
            yield f"  - then fails: `{mechanism.guard.rpartition('::')[2]}`"
        for test in fault.tests:
            module, function = test.split("::")
            yield f"- test: `{module}`:"
            yield f"  `{function}`"
    yield ""
