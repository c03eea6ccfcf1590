"""A finding disproves whatever else is open, and what is open is not proven."""

import pytest

from lakehouse.proofs.foreign.proof import ForeignFinding, ForeignProof

FINDING = (ForeignFinding("repeated", "twice"),)


@pytest.mark.parametrize(
    ("findings", "undecided", "verdict"),
    [((), (), "proven"), ((), ("why",), "open"), (FINDING, ("why",), "disproved"), (FINDING, (), "disproved")],
)
def test_the_verdict(findings: tuple[ForeignFinding, ...], undecided: tuple[str, ...], verdict: str) -> None:
    proof = ForeignProof("birds", ("raw.a",), {}, "coordinates", findings=findings, undecided=undecided)
    assert proof.verdict == verdict
    assert proof.as_json()["verdict"] == verdict
