"""The verdict for a person: what was compared, what is wrong, and what it does not cover."""

import io

import pytest
from rich.console import Console

from lakehouse.cli.commands.prove.foreign.show import show_foreign
from lakehouse.cli.context import Context
from lakehouse.proofs.foreign import ForeignFinding, ForeignProof
from lakehouse.proofs.foreign.proof import ForeignRange


def shown(*, findings: tuple[ForeignFinding, ...] = (), undecided: tuple[str, ...] = ()) -> str:
    context = Context(out=Console(file=io.StringIO(), width=200))
    proof = ForeignProof(
        "birds",
        ("raw.a",),
        {"raw.a": 1},
        "coordinates",
        "Flink",
        {"raw.a": ("partition", "offset")},
        findings,
        undecided,
        (ForeignRange(0, 3, 9, 6, ahead=4), ForeignRange(1, None, 0, 0)),
        6,
    )
    show_foreign(context, proof)
    assert isinstance(context.out.file, io.StringIO)
    return context.out.file.getvalue()


def test_a_proof_names_what_lies_behind_it() -> None:
    text = shown()
    assert "raw.a from topic birds, written by Flink: 6 rows" in text
    assert "[3, 9)" in text
    assert "PROVEN by coordinates" in text
    assert "4 records of the topic have no row yet" in text


@pytest.mark.parametrize(
    ("findings", "lines"),
    [
        ((), ["OPEN: why", "OPEN: coordinates cannot decide"]),
        (
            (ForeignFinding("repeated", "twice"),),
            ["DISPROVED repeated: twice", "OPEN: why", "DISPROVED by coordinates"],
        ),
    ],
)
def test_what_is_wrong_and_what_is_open(findings: tuple[ForeignFinding, ...], lines: list[str]) -> None:
    text = shown(findings=findings, undecided=("why",))
    assert all(line in text for line in lines)
    assert "PROVEN by coordinates" not in text.replace("DISPROVED", "")
