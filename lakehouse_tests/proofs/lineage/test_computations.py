"""Two computations agree if every parameter that they share does; of a run, if each has its value there."""

from dataclasses import replace

import msgspec
import pytest

from lakehouse.proofs.lineage.computations import Computation

NOT_NOTED = Computation("2013-05-14", "p", "run")


def used(**digests: str) -> Computation:
    return replace(NOT_NOTED, used=digests)


@pytest.mark.parametrize(
    ("first", "second", "agree"),
    [
        (used(least="2"), used(least="2", city="Kiel"), True),
        (used(least="2"), used(city="Kiel"), True),
        (used(), used(city="Kiel"), True),
        (used(least="2"), used(least="3", city="Kiel"), False),
        (used(least="2"), NOT_NOTED, True),
        (used(least="2"), replace(NOT_NOTED, parameters="q"), False),
        (NOT_NOTED, replace(NOT_NOTED, parameters="q"), False),
    ],
)
def test_what_both_have_used_decides(first: Computation, second: Computation, agree: bool) -> None:
    assert first.agrees_with(second) is second.agrees_with(first) is agree


def test_a_run_names_all_that_it_has() -> None:
    run = used(least="2", city="Kiel")
    assert used(least="2").is_of(run)
    assert used().is_of(run)
    assert not used(least="3").is_of(run)
    assert not used(gone="1").is_of(run), "with which value it would be computed now, nobody can say"


def test_what_a_released_version_has_written_is_read() -> None:
    text = b'[{"runtime_date":"2013-05-14","parameters":"p","run_id":"run","partitions":["*"]}]'
    assert msgspec.json.decode(text, type=tuple[Computation, ...]) == (NOT_NOTED,)
