"""The page `docs/reference/mechanisms.md`: the table, as people read it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import wrap

from lakehouse_tests.mechanisms.mechanism import Mechanism
from lakehouse_tests.mechanisms.runs import ROOT

PAGE: Path = ROOT / "docs" / "reference" / "mechanisms.md"
WIDTH = 120
_PROMISES = {
    "P1": "Every record lands exactly once",
    "P2": "The tables of a step change together",
    "P3": "A release is of one vintage",
    "P4": "A mirror is the fold of its changelog",
    "P5": "Maintenance keeps all that, and says why",
}


def page(mechanisms: Sequence[Mechanism]) -> str:
    """The whole page."""
    return "\n".join(_lines(mechanisms))


def _lines(mechanisms: Sequence[Mechanism]) -> Iterator[str]:
    yield "# What keeps the promises"
    yield ""
    yield f"{len(mechanisms)} mechanisms keep the five promises."
    yield "Of each you see what would happen without it, then the function that keeps it, then the test that guards it."
    yield "Tests are named from `lakehouse_tests/` on."
    yield "`make mutate` puts a function that lets everything pass in the place of each, and shows that its test fails."
    yield ""
    yield "This page is written by `.venv/bin/python -m lakehouse_tests.mechanisms --write`."
    yield "How to break a single one, and how to add one: [tests](testing.md)."
    for number, title in _PROMISES.items():
        yield ""
        yield f"## {number}: {title}"
        yield ""
        for mechanism in mechanisms:
            if mechanism.number == number:
                yield from wrap(f"- **{mechanism.name}**: {mechanism.prevents}", WIDTH, subsequent_indent="  ")
                yield f"  - `{mechanism.keeps}`"
                module, test = mechanism.guard.split("::", 1)
                yield f"  - `{module}`:"
                yield f"    `{test}`"
    yield ""
